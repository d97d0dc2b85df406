//! Masters and minions die, hang and lose their cables at random while commands
//! flow. At the end every command that a master accepted must have run once, and
//! its result must be at some master.
//!
//! `HALITE_CHAOS_SEED` repeats a run's choices, `HALITE_CHAOS_FAULTS` or
//! `HALITE_CHAOS_SECONDS` makes it longer and `HALITE_CHAOS_MINIONS` larger. The summary
//! is printed, and written to `HALITE_CHAOS_LEDGER`.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use halite_integration_tests::chaos::{
    Dice, Fault, FaultsPer10sMin, Ledger, Length, Part, Results, Sent, Trouble, Troubles, command,
    due, publish, read_cache, setting,
};
use halite_integration_tests::proxy::{Cable, Proxy};
use halite_integration_tests::{Signal, until};
use serde_json::json;

use crate::support::{Several, plain_master};

const MASTERS: usize = 3;

/// How long everything may take to be settled after the last fault.
const SETTLED: Duration = Duration::from_secs(60);

/// Pause between two commands, for the sake of the machine.
const PACE: Duration = Duration::from_millis(60);

/// Fewer faults or commands in a second would prove little. Both come several
/// times a second on a machine that is not busy.
const FAULTS_MIN: FaultsPer10sMin = FaultsPer10sMin(10);
const COMMANDS_PER_SECOND_MIN: u64 = 1;

#[test]
fn nothing_is_lost_in_chaos() -> Result<()> {
    let seed = setting("HALITE_CHAOS_SEED").unwrap_or(7);
    let minions = usize::try_from(setting("HALITE_CHAOS_MINIONS").unwrap_or(6))?;
    let mut chaos = Chaos::start(seed, minions)?;
    let outcome = chaos.run(Length::from_settings(18));
    #[allow(clippy::print_stdout, reason = "the ledger is what one wants to see")]
    {
        println!("{}", chaos.ledger);
    }
    if let Some(path) = std::env::var_os("HALITE_CHAOS_LEDGER") {
        fs::write(path, chaos.ledger.to_string())?;
    }
    outcome
}

const FAULTS: [Fault; 6] = [
    Fault::MasterKilled,
    Fault::MasterHangs,
    Fault::MinionKilled,
    Fault::MinionHangs,
    Fault::CableCut,
    Fault::CableToNowhere,
];

struct Chaos {
    several: Several,
    cables: Vec<Proxy>,
    dice: Dice,
    troubles: Troubles,
    sent: Vec<Sent>,
    ledger: Ledger,
}

impl Chaos {
    fn start(seed: u64, minions: usize) -> Result<Self> {
        let mut several = Several::without_minions(MASTERS, plain_master)?;
        let cables: Vec<Proxy> = several
            .masters
            .iter()
            .map(Proxy::before)
            .collect::<Result<_>>()?;
        let ends: Vec<String> = cables
            .iter()
            .map(|cable| cable.request().to_string())
            .collect();
        several.add_minions(minions, |plan| {
            plan.set("master", json!(ends))
                .set("master_alive_interval", 1)
                .set("auth_timeout", 2)
                .set("mine_enabled", false)
        })?;
        for master in &several.masters {
            for minion in &several.minions {
                master.wait_minion(minion.id())?;
            }
        }
        Ok(Self {
            several,
            cables,
            dice: Dice(seed),
            troubles: Troubles::default(),
            sent: Vec::new(),
            ledger: Ledger {
                seed,
                ..Ledger::default()
            },
        })
    }

    fn run(&mut self, length: Length) -> Result<()> {
        let begun = Instant::now();
        let mut next_fault = begun;
        while !length.is_over(begun.elapsed(), self.ledger.fault_count(), FAULTS_MIN) {
            let now = Instant::now();
            self.heal(now)?;
            if now >= next_fault {
                self.trouble(now)?;
                next_fault = now + self.dice.millis(100, 500);
            }
            self.send()?;
            std::thread::sleep(PACE);
        }
        let lasted = begun.elapsed();
        self.heal(begun + Duration::from_secs(86_400))?;
        self.settle()?;
        length.check(lasted, self.ledger.fault_count(), FAULTS_MIN)?;
        self.check_enough(lasted)
    }

    /// Checks that enough has happened for the result to mean something.
    fn check_enough(&self, lasted: Duration) -> Result<()> {
        let ledger = &self.ledger;
        let seconds = lasted.as_secs();
        ensure!(
            ledger.commands as u64 >= seconds * COMMANDS_PER_SECOND_MIN,
            "only {} commands in {seconds} s: {ledger}",
            ledger.commands
        );
        Ok(())
    }

    fn trouble(&mut self, now: Instant) -> Result<()> {
        let fault = FAULTS[self.dice.below(FAULTS.len())];
        let pool = match fault {
            Fault::MinionKilled | Fault::MinionHangs => self.several.minions.len(),
            _ => MASTERS,
        };
        let which = self.dice.below(pool);
        let lasts = self.dice.millis(50, 2500);
        if self.troubles.of(fault.part(), which).is_some() {
            return Ok(());
        }
        let (master, minion) = (which.min(MASTERS - 1), which);
        match fault {
            Fault::MasterKilled => self.several.masters[master].kill9()?,
            Fault::MasterHangs => self.several.masters[master]
                .daemon()
                .signal(Signal::SIGSTOP)?,
            Fault::MinionKilled => {
                self.several.minions[minion].daemon().check_runs()?;
                self.several.minions[minion].kill9()?;
            }
            Fault::MinionHangs => self.several.minions[minion]
                .daemon()
                .signal(Signal::SIGSTOP)?,
            Fault::CableCut => self.cables[master].set(Cable::Cut),
            Fault::CableToNowhere => self.cables[master].set(Cable::Nowhere),
            // Not among those of this test.
            _ => return Ok(()),
        }
        *self.ledger.faults.entry(fault).or_default() += 1;
        self.troubles.begin(Trouble {
            fault,
            which,
            until: now + lasts,
        });
        Ok(())
    }

    fn heal(&mut self, now: Instant) -> Result<()> {
        for Trouble { fault, which, .. } in self.troubles.take_over(now) {
            match fault {
                Fault::MasterKilled => self.several.masters[which].start()?,
                Fault::MasterHangs => self.several.masters[which]
                    .daemon()
                    .signal(Signal::SIGCONT)?,
                Fault::MinionKilled => self.several.minions[which].start()?,
                Fault::MinionHangs => self.several.minions[which]
                    .daemon()
                    .signal(Signal::SIGCONT)?,
                Fault::CableCut | Fault::CableToNowhere => self.cables[which].set(Cable::Whole),
                _ => {}
            }
        }
        Ok(())
    }

    /// Sends a command from a master that lives, to one minion or to all.
    fn send(&mut self) -> Result<()> {
        let living: Vec<usize> = (0..MASTERS)
            .filter(|which| self.troubles.of(Part::Master, *which).is_none())
            .collect();
        let Some(master) = living.get(self.dice.below(living.len())) else {
            return Ok(());
        };
        let count = self.several.minions.len();
        let one = self.dice.below(count);
        let (target, targets) = match self.dice.below(3) {
            0 => ("*".to_owned(), (0..count).collect()),
            _ => (self.several.minions[one].id().to_owned(), vec![one]),
        };
        let token = format!("t{}", self.ledger.commands + self.ledger.not_accepted);
        let pause = ["", "sleep 0.2 && ", "", "sleep 1 && "][self.dice.below(4)];
        let command = command(&token, pause);
        match publish(&self.several.masters[*master], &target, &command) {
            Ok(jid) => {
                self.ledger.commands += 1;
                self.ledger.runs_due += targets.len();
                self.sent.push(Sent {
                    jid,
                    token,
                    targets,
                });
            }
            Err(error) => self.ledger.refused(*master, &token, &error),
        }
        Ok(())
    }

    /// Waits until every result is somewhere, and judges.
    fn settle(&mut self) -> Result<()> {
        let begun = Instant::now();
        let settled = until("every result", SETTLED, || {
            let results = self.results()?;
            let mut due = due(&self.sent, &self.several.minions);
            let open = due.any(|key| !results.contains_key(&key));
            std::thread::sleep(PACE);
            Ok((!open).then_some(()))
        });
        self.ledger.settled_after = begun.elapsed();
        drop(settled);
        let results = self.results()?;
        self.ledger
            .judge(&self.sent, &self.several.minions, &results);
        for minion in &mut self.several.minions {
            minion.daemon().check_runs()?;
        }
        let ledger = &self.ledger;
        ensure!(ledger.losses() == 0, "{ledger}");
        ensure!(ledger.not_accepted == 0, "living masters refused: {ledger}");
        Ok(())
    }

    /// Every result in every job cache.
    fn results(&self) -> Result<Results> {
        let mut results = Results::new();
        for master in &self.several.masters {
            read_cache(master, &mut results)?;
        }
        Ok(results)
    }
}
