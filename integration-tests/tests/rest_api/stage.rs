//! The surroundings of the page of the fleet: a small fleet, an API, and a browser
//! where somebody has logged in.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};

use anyhow::Result;
use halite_integration_tests::{
    Daemon, Fleet, KeyState, Kind, Master, Minion, Ports, Program, START, until,
};
use serde_json::{Value, json};

use crate::browser::Browser;

/// Markup that runs a script, where it is taken as markup.
pub(crate) const MARKUP: &str = "<img src=x onerror=\"window.wasRun=1\"><b>bold</b>";

/// A screen of a desk, in pixels.
pub(crate) const DESK: (u32, u32) = (1200, 760);

/// A state tree with a change to show, a warning, and a failure.
const WEB_SLS: &str = "\
motd:
  file.managed:
    - name: {dir}/motd
    - contents: |
        Welcome to {{ grains['id'] }}.
        Kept by Halite.

greeting:
  test.succeed_without_changes

dated:
  test.configurable_test_state:
    - result: True
    - changes: False
    - warnings: the old way

broken:
  test.fail_without_changes:
    - name: this one fails
";

/// A fleet with an API, to be looked at.
pub(crate) struct Stage {
    at: SocketAddr,
    pub(crate) web1: Minion,
    _web2: Minion,
    pub(crate) waiting: Minion,
    _api: Daemon,
    pub(crate) master: Master,
    _ports: Ports<1>,
    fleet: Fleet,
}

impl Stage {
    /// A master with two minions, one more that waits for its key to be accepted,
    /// and an API. `alice` may do everything, `bob` only ping, `carol` only ping some.
    pub(crate) fn start() -> Result<Self> {
        Self::start_with(&[], &[])
    }

    /// The same with more options of the master, and of the API.
    pub(crate) fn start_with(
        of_master: &[(&str, Value)],
        of_api: &[(&str, Value)],
    ) -> Result<Self> {
        let fleet = Fleet::new("page")?;
        let ports = Ports::<1>::claim()?;
        let at = SocketAddr::from(([127, 0, 0, 1], ports.numbers[0]));
        let users = fleet.path().join("users");
        fs::write(&users, "alice:secret1\nbob:secret2\ncarol:secret3\n")?;
        let logins = json!({ "file": {
            "^filename": users, "^hashtype": "plaintext",
            "alice": [".*", "@runner", "@wheel"], "bob": ["test.ping"],
            "carol": [{ "web*": ["test.ping"] }],
        }});
        let mut api = json!({ "port": at.port(), "host": "127.0.0.1", "disable_ssl": true });
        for (option, value) in of_api {
            api[*option] = value.clone();
        }
        fs::write(
            fleet.path().join("motd"),
            "An older greeting.\nKept by Halite.\n",
        )?;
        let state = WEB_SLS.replace("{dir}", &fleet.path().display().to_string());
        let mut plan = fleet.master("m1", Kind::Ours);
        for (option, value) in of_master {
            plan = plan.set(option, value.clone());
        }
        let master = plan
            .set("presence_events", true)
            .set("loop_interval", 1)
            .set("external_auth", logins)
            .set(
                "netapi_enable_clients",
                json!(["local", "local_async", "runner", "wheel"]),
            )
            .set("rest_cherrypy", api)
            .file("top.sls", "base:\n  '*':\n    - web\n")
            .file("web.sls", &state)
            .start()?;
        let minion = |id: &str, version: &str| {
            let grains = json!({ "saltversion": version });
            fleet
                .minion(id, Kind::Ours)
                .of(&master)
                .set("grains", grains)
        };
        let web1 = minion("web1", "3008.5").start()?;
        let web2 = minion("web2", MARKUP).start()?;
        for id in ["web1", "web2"] {
            master.accept(id)?;
            master.wait_minion(id)?;
        }
        let waiting = minion("db1", "3008.5").start()?;
        master.wait_key("db1", KeyState::Pending)?;
        let recipe = master.tools(Kind::Ours).recipe(Program::Api, &[])?;
        let mut api = Daemon::new(recipe, master.dir().join("api-console"));
        api.start()?;
        until("the API listens", START, || {
            api.check_runs()?;
            Ok(TcpStream::connect(at).ok())
        })?;
        Ok(Self {
            at,
            web1,
            _web2: web2,
            waiting,
            _api: api,
            master,
            _ports: ports,
            fleet,
        })
    }

    /// The directory with everything in it.
    pub(crate) fn dir(&self) -> &Path {
        self.fleet.path()
    }

    /// Where the API listens.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.at
    }

    /// The address of a page of the API.
    pub(crate) fn url(&self, page: &str) -> String {
        format!("http://{}/{page}", self.at)
    }

    /// A browser of a user's, which shows nothing yet.
    pub(crate) fn browser(&self, user: &str) -> Result<Option<Browser>> {
        let home = self.fleet.path().join(format!("browser-{user}"));
        fs::create_dir_all(&home)?;
        let browser = Browser::start(&home)?;
        if let Some(browser) = &browser {
            browser.look(DESK, false)?;
        }
        Ok(browser)
    }

    /// A browser at the page, where a user has logged in.
    pub(crate) fn logged_in(&self, user: &str, password: &str) -> Result<Option<Browser>> {
        let Some(browser) = self.browser(user)? else {
            return Ok(None);
        };
        log_in(&browser, &self.url("fleet"), user, password)?;
        Ok(Some(browser))
    }
}

/// Logs in to the page, after a try with a wrong password.
pub(crate) fn log_in(browser: &Browser, url: &str, user: &str, password: &str) -> Result<()> {
    browser.open(url)?;
    browser.wait("the login", "document.querySelector('form.login')")?;
    picture(browser, "login")?;
    browser.type_into("input[name=username]", user)?;
    browser.type_into("input[name=password]", "not this")?;
    browser.type_into("input[name=eauth]", "file")?;
    browser.click("form.login button")?;
    browser.wait_text("Could not authenticate")?;
    browser.type_into("input[name=password]", password)?;
    browser.click("form.login button")?;
    browser.wait("the frame", "document.querySelector('nav a')")
}

/// Writes a picture for people, where that is asked for.
pub(crate) fn picture(browser: &Browser, name: &str) -> Result<()> {
    let Some(dir) = std::env::var_os("HALITE_PICTURES").map(PathBuf::from) else {
        return Ok(());
    };
    fs::write(dir.join(format!("{name}.png")), browser.picture()?)?;
    Ok(())
}
