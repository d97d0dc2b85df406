//! A real browser, headless, driven by WebDriver.
//!
//! Invariant: every wait is for something that the page shows, and has a deadline.

use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use base64::Engine;
use halite_integration_tests::{Daemon, Ports, Recipe, START, until};
use halite_test_services::find_program;
use halite_test_support::{have_programs, http};
use serde_json::{Value, json};

/// How long the page may take to show something.
const SHOWN: Duration = Duration::from_secs(60);

/// How WebDriver calls a reference to an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// How it calls an element that was drawn anew.
const STALE: &str = "stale element reference";

/// How often an element is looked for that is drawn anew each time.
const CLICKS_MAX: u32 = 5;

/// Milliseconds that a page waits for a connection at most. One that a page that was
/// left holds is free after about a minute.
pub(crate) const CONNECTION_MS_MAX: f64 = 20_000.0;

/// What Chromium is told. There is no user whom its sandbox could protect, and
/// nothing of it is to leave this machine.
const ARGUMENTS: [&str; 8] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--hide-scrollbars",
];

/// A window of a browser.
pub(crate) struct Browser {
    at: SocketAddr,
    session: String,
    _driver: Daemon,
    _ports: Ports<1>,
}

impl Browser {
    /// Starts one with a profile below `dir`; `None`, reported, where there is no
    /// Chromium.
    pub(crate) fn start(dir: &Path) -> Result<Option<Self>> {
        if !have_programs(&["chromium", "chromedriver"]) {
            return Ok(None);
        }
        let program = find_program("chromedriver").context("no chromedriver")?;
        let chromium = find_program("chromium").context("no chromium")?;
        let ports = Ports::<1>::claim()?;
        let at = SocketAddr::from(([127, 0, 0, 1], ports.numbers[0]));
        let recipe =
            Recipe::new("chromedriver", program, dir).args(&[format!("--port={}", at.port())]);
        let mut driver = Daemon::new(recipe, dir.join("chromedriver-console"));
        driver.start()?;
        until("the driver listens", START, || {
            driver.check_runs()?;
            Ok(TcpStream::connect(at).ok())
        })?;
        let mut arguments: Vec<String> = ARGUMENTS.map(str::to_owned).into();
        arguments.push(format!("--user-data-dir={}", dir.join("profile").display()));
        arguments.push("--window-size=1280,860".to_owned());
        let options = json!({ "binary": chromium, "args": arguments });
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            // Certificates of tests are signed by nobody whom it knows.
            "acceptInsecureCerts": true,
            "goog:chromeOptions": options,
            "goog:loggingPrefs": { "browser": "ALL" },
        }}});
        let made = ask(at, "POST", "/session", &wanted)?;
        let session = made["sessionId"].as_str().context("no session")?.to_owned();
        Ok(Some(Self {
            at,
            session,
            _driver: driver,
            _ports: ports,
        }))
    }

    fn command(&self, path: &str, body: &Value) -> Result<Value> {
        let path = format!("/session/{}/{path}", self.session);
        ask(self.at, "POST", &path, body)
    }

    /// Opens an address.
    pub(crate) fn open(&self, url: &str) -> Result<()> {
        self.command("url", &json!({ "url": url })).map(drop)
    }

    /// The value of a script of the page.
    pub(crate) fn value(&self, script: &str) -> Result<Value> {
        let body = json!({ "script": format!("return ({script});"), "args": [] });
        self.command("execute/sync", &body)
    }

    /// The value of a script that takes its time: a promise.
    pub(crate) fn awaited(&self, script: &str) -> Result<Value> {
        let script =
            format!("const done = arguments[0]; ({script}).then(done, (e) => done('' + e));");
        self.command("execute/async", &json!({ "script": script, "args": [] }))
    }

    /// Waits until a script is true of the page.
    pub(crate) fn wait(&self, what: &str, script: &str) -> Result<()> {
        let waited = until(what, SHOWN, || {
            let value = self.value(&format!("Boolean({script})"))?;
            Ok((value == json!(true)).then_some(()))
        });
        waited.with_context(|| format!("the page shows: {}", self.text().unwrap_or_default()))
    }

    /// Waits until the page shows a text.
    pub(crate) fn wait_text(&self, text: &str) -> Result<()> {
        let script = format!("document.body.innerText.includes({})", json!(text));
        self.wait(&format!("the text {text:?}"), &script)
    }

    /// All that can be read on the page.
    pub(crate) fn text(&self) -> Result<String> {
        let text = self.value("document.body.innerText")?;
        Ok(text.as_str().unwrap_or_default().to_owned())
    }

    fn element(&self, selector: &str) -> Result<String> {
        let body = json!({ "using": "css selector", "value": selector });
        let found = self.command("element", &body);
        let found = found.with_context(|| format!("no element {selector}"))?;
        let id = found[ELEMENT].as_str().context("no reference")?;
        Ok(id.to_owned())
    }

    /// Clicks where the element is. A page that is alive may draw it anew between the
    /// look for it and the click.
    pub(crate) fn click(&self, selector: &str) -> Result<()> {
        let mut tries = 0;
        loop {
            let element = self.element(selector)?;
            let clicked = self.command(&format!("element/{element}/click"), &json!({}));
            tries += 1;
            match clicked {
                Err(error) if tries < CLICKS_MAX && error.to_string().contains(STALE) => {}
                clicked => return clicked.map(drop),
            }
        }
    }

    /// Types into a field, in place of what is there.
    pub(crate) fn type_into(&self, selector: &str, text: &str) -> Result<()> {
        let element = self.element(selector)?;
        self.command(&format!("element/{element}/clear"), &json!({}))?;
        let body = json!({ "text": text });
        self.command(&format!("element/{element}/value"), &body)
            .map(drop)
    }

    /// Presses a key.
    pub(crate) fn press(&self, key: &str) -> Result<()> {
        let strokes = [
            json!({ "type": "keyDown", "value": key }),
            json!({ "type": "keyUp", "value": key }),
        ];
        let keyboard = json!({ "type": "key", "id": "keyboard", "actions": strokes });
        self.command("actions", &json!({ "actions": [keyboard] }))
            .map(drop)
    }

    /// Says something to the browser itself.
    fn devtools(&self, method: &str, params: Value) -> Result<Value> {
        let body = json!({ "cmd": method, "params": params });
        self.command("goog/cdp/execute", &body)
    }

    /// Milliseconds of processor time that the main thread of the page has taken so far,
    /// with its scripts, styles and layout. What else the machine does is not in it.
    pub(crate) fn main_thread_ms(&self) -> Result<f64> {
        let domain = json!({ "timeDomain": "threadTicks" });
        self.devtools("Performance.enable", domain)?;
        let said = self.devtools("Performance.getMetrics", json!({}))?;
        let metrics = said["metrics"].as_array().context("no metrics")?;
        let task = metrics.iter().find(|row| row["name"] == "TaskDuration");
        let seconds = task.and_then(|row| row["value"].as_f64());
        Ok(seconds.context("no time of tasks")? * 1000.0)
    }

    /// Has the page be looked at on a screen of this size, at night or by day.
    pub(crate) fn look(&self, (width, height): (u32, u32), is_dark: bool) -> Result<()> {
        let screen = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600,
        });
        self.devtools("Emulation.setDeviceMetricsOverride", screen)?;
        let scheme = match is_dark {
            true => "dark",
            false => "light",
        };
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.devtools("Emulation.setEmulatedMedia", media)?;
        Ok(())
    }

    /// The page as a picture (PNG).
    pub(crate) fn picture(&self) -> Result<Vec<u8>> {
        let path = format!("/session/{}/screenshot", self.session);
        let said = ask(self.at, "GET", &path, &Value::Null)?;
        let text = said.as_str().context("no picture")?;
        Ok(base64::engine::general_purpose::STANDARD.decode(text)?)
    }

    /// The cookies of the page, those that scripts cannot read included.
    pub(crate) fn cookies(&self) -> Result<Vec<Value>> {
        let path = format!("/session/{}/cookie", self.session);
        let said = ask(self.at, "GET", &path, &Value::Null)?;
        Ok(said.as_array().cloned().unwrap_or_default())
    }

    /// Checks that each request of the page was sent at once: a browser has six
    /// connections to one server, which streams of pages that were left may hold.
    pub(crate) fn check_requests_are_sent(&self) -> Result<()> {
        let waited = self.value(
            "Math.max(0, ...performance.getEntriesByType('resource')\
             .filter((e) => e.requestStart > 0).map((e) => e.requestStart - e.startTime))",
        )?;
        let waited = waited.as_f64().context("no number")?;
        ensure!(
            waited < CONNECTION_MS_MAX,
            "a request was sent after {waited} ms"
        );
        Ok(())
    }

    /// What the browser has complained about since it was asked last.
    pub(crate) fn complaints(&self) -> Result<Vec<String>> {
        let said = self.command("se/log", &json!({ "type": "browser" }))?;
        let said = said.as_array().cloned().unwrap_or_default();
        let is_grave = |entry: &&Value| {
            ["SEVERE", "WARNING"]
                .iter()
                .any(|level| entry["level"] == **level)
        };
        let grave = said.iter().filter(is_grave);
        Ok(grave
            .map(|entry| entry["message"].as_str().unwrap_or_default().to_owned())
            .collect())
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Without this, windows outlive the driver.
        let path = format!("/session/{}", self.session);
        let _ = ask(self.at, "DELETE", &path, &Value::Null);
    }
}

/// One command of WebDriver.
fn ask(at: SocketAddr, method: &str, path: &str, body: &Value) -> Result<Value> {
    let body = match body {
        Value::Null => String::new(),
        body => body.to_string(),
    };
    let headers = [("Content-Type", "application/json")];
    let said = http::ask(at, method, path, &headers, &body)?;
    let answer = http::body(&said).unwrap_or_default();
    let answer: Value = serde_json::from_str(answer).with_context(|| said.clone())?;
    let value = &answer["value"];
    ensure!(http::status(&said) == Some(200), "{method} {path}: {value}");
    Ok(value.clone())
}
