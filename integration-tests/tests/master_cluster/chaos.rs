//! Masters of a cluster die, hang, stop and hand their minions over, and the cables
//! between them, to their bus and to the balancer fail, and their store hangs, while
//! commands are given at those that live. At the end every command must have run once
//! and its result must be at a master, every minion must be the same process as before,
//! and the masters must agree. Only a minion of Salt may miss a command while the cable
//! fails that its own connection leads through, as with Salt's masters.
//!
//! `HALITE_CHAOS_SEED` repeats a run's choices, `HALITE_CHAOS_FAULTS` or
//! `HALITE_CHAOS_SECONDS` makes it longer and `HALITE_CHAOS_MINIONS` larger. The summary
//! is printed, and written to `HALITE_CHAOS_LEDGER`.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use halite_integration_tests::chaos::{
    Dice, Fault, FaultsPer10sMin, Ledger, Length, Part, Results, Sent, Trouble, Troubles, due,
    gives_up, publish, setting,
};
use halite_integration_tests::{HAPROXY, Kind, until};
use halite_test_support::have_programs;

use crate::cabled::{Cabled, MASTERS, PAIRS, RAN};
use crate::faults;
use crate::missed::{self, Missed};

/// How long everything may take to be settled after the last fault: a minion of Salt
/// tries three times to return something, each time for up to 10 s.
const SETTLED: Duration = Duration::from_secs(60);

/// Pause between two commands. What a minion of Salt may have missed is sent again
/// only if it is no more than 80 jobs.
const PACE: Duration = Duration::from_millis(250);

/// Fewer faults or commands would prove little. Each comes more than once a second on
/// a machine that is not busy.
const FAULTS_MIN: FaultsPer10sMin = FaultsPer10sMin(5);
const COMMANDS_PER_10_S_MIN: u64 = 5;

/// Of the commands for minions of Salt, at most one of so many may be missed, or its result
/// be given up.
const GIVEN_UP_ONE_OF_MIN: usize = 5;

#[test]
fn nothing_is_lost_in_chaos() -> Result<()> {
    lose_nothing(&faults::ALL, |minions| Cabled::start(minions).map(Some))
}

#[test]
fn nothing_is_lost_in_chaos_on_a_bus() -> Result<()> {
    lose_nothing(&faults::ALL, Cabled::on_bus)
}

#[test]
fn nothing_is_lost_in_chaos_with_shared_files() -> Result<()> {
    lose_nothing(&faults::WITH_SHARED_FILES, Cabled::sharing)
}

#[test]
fn nothing_is_lost_in_chaos_on_a_store() -> Result<()> {
    lose_nothing(&faults::ON_STORE, |minions| {
        // The store hangs for up to 9 s, and masters are started meanwhile and wait for it:
        // jobs wait for longer than they do by default.
        Cabled::on_store(minions, "job_replay_window: 120")
    })
}

#[test]
fn no_minion_misses_a_command_while_its_cables_are_whole() -> Result<()> {
    lose_nothing(&faults::WITHOUT_CABLES, |minions| {
        Cabled::start(minions).map(Some)
    })
}

fn lose_nothing(
    faults: &'static [Fault],
    start: impl Fn(&[(String, Kind)]) -> Result<Option<Cabled>>,
) -> Result<()> {
    if !have_programs(&[HAPROXY]) {
        return Ok(());
    }
    let seed = setting("HALITE_CHAOS_SEED").unwrap_or(7);
    let minions = setting("HALITE_CHAOS_MINIONS").unwrap_or(3);
    let Some(cabled) = start(&minion_kinds(minions))? else {
        return Ok(());
    };
    let mut chaos = Chaos::of(seed, cabled, faults)?;
    let outcome = chaos.run(Length::from_settings(16));
    #[allow(clippy::print_stdout, reason = "the ledger is what one wants to see")]
    {
        println!("{}", chaos.ledger);
    }
    if let Some(path) = std::env::var_os("HALITE_CHAOS_LEDGER") {
        fs::write(path, chaos.ledger.to_string())?;
    }
    outcome
}

/// So many of ours, and one of each of Salt's versions.
fn minion_kinds(count: u64) -> Vec<(String, Kind)> {
    let ours = (1..=count).map(|n| (format!("web{n}"), Kind::Ours));
    let theirs = [("py3008", Kind::Salt3008), ("py3006", Kind::Salt3006)];
    let theirs = theirs.map(|(id, kind)| (id.to_owned(), kind));
    ours.chain(theirs).collect()
}

struct Chaos {
    cabled: Cabled,
    /// Of each minion at the start.
    pids: Vec<i32>,
    dice: Dice,
    troubles: Troubles,
    sent: Vec<Sent>,
    /// When each of them was.
    sent_at: Vec<Instant>,
    /// What minions of Salt may have missed.
    missed: Missed,
    /// Commands times the minions of Salt that they are for.
    salts_due: usize,
    /// Commands so far, accepted or not.
    tried: usize,
    faults: &'static [Fault],
    ledger: Ledger,
}

impl Chaos {
    fn of(seed: u64, mut cabled: Cabled, faults: &'static [Fault]) -> Result<Self> {
        let pids = cabled.minions.iter_mut().map(|of| of.daemon().pid());
        Ok(Self {
            pids: pids.collect::<Result<_>>()?,
            cabled,
            dice: Dice(seed),
            troubles: Troubles::default(),
            sent: Vec::new(),
            sent_at: Vec::new(),
            missed: Missed::default(),
            salts_due: 0,
            tried: 0,
            faults,
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
                next_fault = now + self.dice.millis(100, 700);
            }
            self.missed.look(&self.cabled, Instant::now())?;
            self.send()?;
            std::thread::sleep(PACE);
        }
        let lasted = begun.elapsed();
        self.heal(begun + Duration::from_secs(86_400))?;
        self.settle();
        self.cabled.wait_agreed()?;
        self.judge()?;
        self.check_minions()?;
        self.cabled.check_no_panic()?;
        length.check(lasted, self.ledger.fault_count(), FAULTS_MIN)?;
        self.check_enough(lasted)
    }

    /// Checks that each minion is still the process that was started.
    fn check_minions(&mut self) -> Result<()> {
        for (minion, pid) in self.cabled.minions.iter_mut().zip(&self.pids) {
            minion.daemon().check_runs()?;
            let now = minion.daemon().pid()?;
            ensure!(now == *pid, "{} was started again", minion.id());
        }
        Ok(())
    }

    /// Checks that enough has happened for the result to mean something.
    fn check_enough(&self, lasted: Duration) -> Result<()> {
        let ledger = &self.ledger;
        let commands = ledger.commands as u64;
        ensure!(
            commands >= lasted.as_secs() / 10 * COMMANDS_PER_10_S_MIN,
            "only {commands} commands in {lasted:.0?}: {ledger}"
        );
        ensure!(
            (ledger.given_up + ledger.missed) * GIVEN_UP_ONE_OF_MIN <= self.salts_due,
            "minions of Salt gave up too much: {ledger}"
        );
        Ok(())
    }

    /// Whether minions cannot use a master.
    fn is_out(&self, master: usize) -> bool {
        let of = |part| self.troubles.of(part, master).is_some();
        of(Part::Master) || of(Part::Cable)
    }

    fn trouble(&mut self, now: Instant) -> Result<()> {
        let fault = self.faults[self.dice.below(self.faults.len())];
        // There are as many pairs as masters.
        let which = match fault.part() {
            Part::Bus | Part::Keys | Part::Store => 0,
            _ => self.dice.below(MASTERS.max(PAIRS.len())),
        };
        let part = fault.part();
        let lasts = match (part, self.dice.below(4)) {
            // Too short for masters to take it for away, or long enough.
            (Part::Store, _) => self.dice.millis(1000, 9000),
            (_, 0) => self.dice.millis(2500, 6000),
            _ => self.dice.millis(50, 2500),
        };
        // Any one master that lives is enough; without one, a minion of Salt gives up.
        let has_another = (0..MASTERS).any(|other| other != which && !self.is_out(other));
        let may_be = match part {
            Part::Peers | Part::Bus | Part::Store => true,
            // A master does not start without its keys.
            Part::Keys => !self.troubles.any_of(Part::Master),
            Part::Master => has_another && !self.troubles.any_of(Part::Keys),
            Part::Cable | Part::Minion => has_another,
        };
        if self.troubles.of(part, which).is_some() || !may_be {
            return Ok(());
        }
        if part == Part::Cable {
            self.missed.fails(&self.cabled, (which, now, now + lasts))?;
        }
        if !faults::begin(&mut self.cabled, fault, which)? {
            return Ok(());
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
        let mut over: Vec<Trouble> = self.troubles.take_over(now);
        // A master that starts waits for the store, which is not to hang for so much longer.
        over.sort_by_key(|trouble| trouble.fault.part() != Part::Store);
        for Trouble { fault, which, .. } in over {
            faults::end(&mut self.cabled, fault, which)?;
        }
        Ok(())
    }

    /// Sends a command from a master that lives, to one minion or to all.
    fn send(&mut self) -> Result<()> {
        let lives = |of: &usize| {
            let fault = self.troubles.of(Part::Master, *of);
            matches!(fault, None | Some(Fault::MasterDrains))
        };
        let living: Vec<usize> = (0..MASTERS).filter(lives).collect();
        let Some(master) = living.get(self.dice.below(living.len())) else {
            return Ok(());
        };
        let minions = &self.cabled.minions;
        let one = self.dice.below(minions.len());
        let (target, targets) = match self.dice.below(3) {
            0 => ("*".to_owned(), (0..minions.len()).collect()),
            _ => (minions[one].id().to_owned(), vec![one]),
        };
        let token = format!("t{}", self.tried);
        self.tried += 1;
        let pause = ["", "sleep 0.2 && ", "", "sleep 1 && "][self.dice.below(4)];
        let command = format!("{pause}echo {token} >> ${RAN} && echo {token}");
        match publish(&self.cabled.masters[*master], &target, &command) {
            Ok(jid) => {
                self.ledger.commands += 1;
                self.ledger.runs_due += targets.len();
                let kinds = targets
                    .iter()
                    .map(|which| self.cabled.minions[*which].kind());
                self.salts_due += kinds.filter(|kind| *kind != Kind::Ours).count();
                self.sent_at.push(Instant::now());
                self.sent.push(Sent {
                    jid,
                    token,
                    targets,
                });
            }
            // A master that was started just before does not know its minions yet.
            Err(_) if self.troubles.any_of(Part::Keys) => {}
            Err(error) => self.ledger.refused(*master, &token, &error),
        }
        Ok(())
    }

    /// Waits until every result is somewhere.
    fn settle(&mut self) {
        let begun = Instant::now();
        let settled = until("every result", SETTLED, || {
            let results = self.cabled.results()?;
            // What a minion of Salt may have missed is not waited for longer than it
            // takes to connect again.
            if begun.elapsed() > missed::AFTER {
                self.forget_missed(&results);
            }
            let minions = &self.cabled.minions;
            let will_come = |jid: &str, id: &str| {
                let minion = minions.iter().find(|minion| minion.id() == id);
                !minion.is_some_and(|minion| gives_up(minion, jid))
            };
            let mut due = due(&self.sent, minions);
            let open = due.any(|key| !results.contains_key(&key) && will_come(&key.0, &key.1));
            std::thread::sleep(PACE);
            Ok((!open).then_some(()))
        });
        self.ledger.settled_after = begun.elapsed();
        // The ledger says what is missing.
        drop(settled);
    }

    /// Judges, when what is sent again has been.
    fn judge(&mut self) -> Result<()> {
        let results = self.cabled.results().context("the job caches")?;
        self.forget_missed(&results);
        let (sent, minions) = (&self.sent, &self.cabled.minions);
        self.ledger.judge(sent, minions, &results);
        let ledger = &self.ledger;
        ensure!(ledger.losses() == 0, "{ledger}");
        ensure!(ledger.not_accepted == 0, "living masters refused: {ledger}");
        Ok(())
    }

    /// Takes the commands off the list that minions of Salt have neither run nor
    /// returned and may have missed, and counts them.
    fn forget_missed(&mut self, results: &Results) {
        let minions = &self.cabled.minions;
        let ran: Vec<String> = minions
            .iter()
            .map(|minion| fs::read_to_string(minion.dir().join("ran")).unwrap_or_default())
            .collect();
        for (sent, at) in self.sent.iter_mut().zip(&self.sent_at) {
            let before = sent.targets.len();
            sent.targets.retain(|which| {
                let minion = &minions[*which];
                minion.kind() == Kind::Ours
                    || !self.missed.may_miss(*which, *at)
                    || results.contains_key(&(sent.jid.clone(), minion.id().to_owned()))
                    || ran[*which].lines().any(|token| token == sent.token)
            });
            self.ledger.missed += before - sent.targets.len();
        }
    }
}
