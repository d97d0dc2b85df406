//! The fleet on which the actions run: a master, and minions that the actions
//! start.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use halite_integration_tests::{
    Event, Fleet, Kind, Master, Minion, MinionPlan, Program, SHORT, START, run, until,
};
use serde_json::json;

use crate::script::{Step, is_meant};
use crate::shape::Shape;

/// A master with its minions.
pub(crate) struct Stage {
    kind: Kind,
    master: Master,
    minions: BTreeMap<String, Minion>,
    fleet: Fleet,
    user: String,
}

impl Stage {
    /// Starts the master of a kind with the files of `tree`.
    pub(crate) fn start(kind: Kind, tree: &Path) -> Result<Self> {
        let fleet = Fleet::new("events")?;
        let reactor = fleet.path().join("m1/srv/react.sls").display().to_string();
        let passwords = fleet.path().join("passwords");
        fs::write(&passwords, "nobody:right\nlimited:right\n")?;
        let file = json!({
            "^filename": passwords,
            "nobody": [".*"],
            "limited": ["test.ping"],
        });
        let mut plan = fleet
            .master("m1", kind)
            .set("timeout", 30)
            .set("gather_job_timeout", 2)
            .set("presence_events", true)
            .set("fileserver_events", true)
            .set("roots_update_interval", 3600)
            .set("master_stats", true)
            .set("master_stats_event_iter", 1)
            .set("state_events", true)
            .set("peer", json!({ ".*": ["test.*"] }))
            .set("peer_run", json!({ ".*": ["test.*"] }))
            .set("external_auth", json!({ "file": file }))
            .set("reactor", json!([{ "my/call": [reactor] }]));
        for entry in fs::read_dir(tree)? {
            let entry = entry?;
            let text = fs::read_to_string(entry.path())?;
            plan = plan.file(&entry.file_name().to_string_lossy(), &text);
        }
        let master = plan.start()?;
        let user = nix::unistd::User::from_uid(nix::unistd::geteuid())?;
        Ok(Self {
            kind,
            master,
            minions: BTreeMap::new(),
            fleet,
            user: user.context("the user has no name")?.name,
        })
    }

    /// Has the master look at its files, and gives the mark behind that: what
    /// a start tells of them may come before anybody listens.
    pub(crate) fn begin(&self) -> Result<usize> {
        self.run(Program::Run, &["fileserver.update".to_owned()], 0)?;
        until("the first look at the files", SHORT, || {
            let events = self.events(0)?;
            let told = events
                .iter()
                .position(|event| is_meant("salt/run/*/ret", &event.tag));
            Ok(told.map(|at| at + 1))
        })
    }

    /// Performs a step of the action that began at `mark`.
    pub(crate) fn perform(&mut self, step: &Step, mark: usize) -> Result<()> {
        match step {
            Step::Start(id) => self.start_minion(id),
            Step::Stop(id) => {
                self.minions.get_mut(id).context("no such minion")?.stop()?;
                Ok(())
            }
            Step::Rekey(id) => {
                let minion = self.minions.get_mut(id).context("no such minion")?;
                minion.stop()?;
                fs::remove_dir_all(minion.dir().join("pki"))?;
                fs::create_dir(minion.dir().join("pki"))?;
                minion.start()
            }
            Step::Put { path, text } => Ok(fs::write(
                self.master.dir().join(path),
                format!("{text}\n"),
            )?),
            Step::Run { program, args } => self.run(*program, args, mark),
            Step::Until { glob, count } => until(&format!("{count} of {glob}"), SHORT, || {
                let events = self.events(mark)?;
                let found = events.iter().filter(|event| is_meant(glob, &event.tag));
                Ok((found.count() >= *count).then_some(()))
            }),
        }
    }

    fn start_minion(&mut self, id: &str) -> Result<()> {
        if let Some(minion) = self.minions.get_mut(id) {
            // It may have ended by itself, since its key was rejected.
            minion.stop().ok();
            return minion.start();
        }
        let plan: MinionPlan<'_> = self.fleet.minion(id, self.kind).of(&self.master);
        let minion = plan
            .set("start_event_grains", json!(["role"]))
            .set("start_event", true)
            .set("grains", json!({ "role": "web" }))
            .set("mine_functions", json!({ "test.echo": ["mined"] }))
            .start()?;
        self.minions.insert(id.to_owned(), minion);
        Ok(())
    }

    fn run(&self, program: Program, args: &[String], mark: usize) -> Result<()> {
        let jid = self.events(mark)?.iter().rev().find_map(|event| {
            let jid = event.data.get("jid")?.as_str()?;
            event.tag.ends_with("/new").then(|| jid.to_owned())
        });
        let dir = self.fleet.path().display().to_string();
        let args: Vec<String> = args
            .iter()
            .map(|arg| {
                arg.replace("{fleet}", &dir)
                    .replace("{jid}", jid.as_deref().unwrap_or("{jid}"))
            })
            .collect();
        let recipe = match program {
            Program::Call => {
                let minion = self.minions.get("web1").context("web1 was never started")?;
                minion.recipe(program)?.args(&args)
            }
            program => {
                let args: Vec<&str> = args.iter().map(String::as_str).collect();
                self.master.tools(self.kind).recipe(program, &args)?
            }
        };
        // How programs end is for other tests; some of these are to fail.
        let output = run(&recipe, START)?;
        if std::env::var_os("HALITE_EVENTS_SHOW").is_some() {
            show(&output.to_string());
        }
        Ok(())
    }

    /// What the bus has said since `mark`.
    pub(crate) fn events(&self, mark: usize) -> Result<Vec<Event>> {
        Ok(self.master.events()?.events().split_off(mark))
    }

    /// What an event is compared by.
    pub(crate) fn shape(&self, event: &Event) -> Shape {
        let address = self.master.address();
        let ip = address.ip();
        let port = address.request().port();
        let places = [
            (
                self.fleet.path().display().to_string(),
                "<fleet>".to_owned(),
            ),
            (format!("{ip}:{port}"), "<ip>:<request port>".to_owned()),
            (ip.to_string(), "<ip>".to_owned()),
        ];
        Shape::of(&event.tag, &event.data, &places, &self.user)
    }
}

#[allow(clippy::print_stdout, reason = "asked for by who looks for a mistake")]
fn show(text: &str) {
    println!("{text}");
}
