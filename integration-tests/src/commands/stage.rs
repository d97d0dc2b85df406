//! The fleet on which a chapter runs: a master, `web1` and `web2`.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use nix::unistd::{Group, User, getegid, geteuid};
use serde_json::{Value, json};

use super::answer::Answer;
use super::table::{Chapter, Row};
use crate::fleet::Fleet;
use crate::kind::{Kind, Program};
use crate::master::Master;
use crate::minion::{Minion, MinionPlan};
use crate::process::{Recipe, run};
use crate::wait::{START, until};

/// The fleet in an answer.
const FLEET: &str = "<fleet>";

/// A fleet of one kind.
#[derive(Debug)]
pub struct Stage {
    kind: Kind,
    master: Master,
    web1: Minion,
    _web2: Minion,
    fleet: Fleet,
}

impl Stage {
    /// Starts a fleet with the files of `tree`: `srv` and `pillar` of the
    /// master, `home` in the directory of the fleet.
    pub fn start(kind: Kind, chapter: &Chapter, tree: &Path) -> Result<Self> {
        let fleet = Fleet::new("table")?;
        copy(&tree.join("home"), fleet.path())?;
        let mut plan = fleet
            .master("m1", kind)
            .auto_accept()
            .set("timeout", 5)
            .set("gather_job_timeout", 4)
            .set("file_recv", true)
            .set("peer", json!({ ".*": ["test.*", "grains.*"] }))
            .set("peer_run", json!({ ".*": ["manage.*", "test.*"] }))
            .set(
                "nodegroups",
                json!({
                    "webs": "web*",
                    "first": "L@web1",
                    "nested": "N@first or G@role:db",
                    "listed": ["web1", "or", "web2"],
                }),
            );
        let dir = fleet.path().display().to_string();
        for (option, value) in &chapter.master {
            let value: Value = serde_json::from_str(&value.replace("{fleet}", &dir))
                .with_context(|| format!("the value of {option} is no JSON"))?;
            plan = plan.set(option, value);
        }
        let mut master = plan.lay()?;
        copy(&tree.join("srv"), &master.dir().join("srv"))?;
        copy(&tree.join("pillar"), &master.dir().join("pillar"))?;
        master.start()?;
        let web1 = with_settings(fleet.minion("web1", kind).of(&master), "web", 1).start()?;
        let web2 = with_settings(fleet.minion("web2", kind).of(&master), "db", 2).start()?;
        for id in ["web1", "web2"] {
            master.wait_minion(id)?;
        }
        // A minion tells of its mine a moment after it answers. Salt before 3008 has it in
        // another place.
        let cache = master.dir().join("cache");
        until("the mines of the minions", START, || {
            let has_mine = |id: &str| {
                let places = [format!("mine/{id}.p"), format!("minions/{id}/mine.p")];
                places.iter().any(|place| cache.join(place).exists())
            };
            Ok(["web1", "web2"].into_iter().all(has_mine).then_some(()))
        })?;
        let keys = master.dir().join("pki/minions");
        for id in &chapter.accepted {
            fs::copy(keys.join("web1"), keys.join(id))?;
        }
        Ok(Self {
            kind,
            master,
            web1,
            _web2: web2,
            fleet,
        })
    }

    /// Runs a command and gives what counts of its answer.
    pub fn play(&self, row: &Row) -> Result<Answer> {
        let output = run(&self.recipe(row)?, START)
            .with_context(|| format!("no answer to: {}", row.line))?;
        Ok(Answer::of(&output, &row.compare, &self.places()))
    }

    /// How a command is run.
    pub fn recipe(&self, row: &Row) -> Result<Recipe> {
        let dir = self.fleet.path().display().to_string();
        let mut args: Vec<String> = row
            .args
            .iter()
            .map(|arg| arg.replace("{fleet}", &dir))
            .collect();
        if row.asks_for_json() {
            args.insert(0, "--out=json".to_owned());
        }
        let recipe = match row.program {
            Program::Call | Program::Minion => self.web1.recipe(row.program)?.args(&args),
            program => {
                let args: Vec<&str> = args.iter().map(String::as_str).collect();
                self.master.tools(self.kind).recipe(program, &args)?
            }
        };
        Ok(recipe.stdin(&row.stdin).env("COLUMNS", "80"))
    }

    /// The directory of the fleet.
    pub fn dir(&self) -> &Path {
        self.fleet.path()
    }

    /// Texts that stand for others in answers.
    pub fn places(&self) -> Vec<(String, String)> {
        let address = self.master.address();
        let ip = address.ip();
        let mut places = vec![
            (self.fleet.path().display().to_string(), FLEET.to_owned()),
            (
                format!("{ip}:{}", address.request().port()),
                "<ip>:<request port>".to_owned(),
            ),
            (ip.to_string(), "<ip>".to_owned()),
        ];
        places.extend(owner().map(|owner| (owner, "owned by <user>:<group>".to_owned())));
        places
    }
}

/// What is said of files of the user who runs the tests.
fn owner() -> Option<String> {
    let user = User::from_uid(geteuid()).ok()??.name;
    let group = Group::from_gid(getegid()).ok()??.name;
    Some(format!("owned by {user}:{group}"))
}

fn with_settings<'fleet>(plan: MinionPlan<'fleet>, role: &str, rack: i32) -> MinionPlan<'fleet> {
    let grains = json!({
        "role": role,
        "rack": rack,
        "tags": ["prod", format!("r{rack}")],
        "place": { "city": { "street": format!("road {rack}") } },
        // Not those of the machine, which is another one each time.
        "ipv6": ["::1", format!("2001:db8::{rack}")],
        "hwaddr_interfaces": { "eth9": format!("02:00:00:00:00:0{rack}") },
    });
    plan.set("grains", grains)
        .set(
            "mine_functions",
            json!({ "test.echo": ["mined"], "alias": [{ "mine_function": "grains.get" }, "role"] }),
        )
        .set("mine_interval", 60)
}

/// Copies a directory with everything in it.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("no {}", from.display()))? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}
