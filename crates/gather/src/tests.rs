//! The machine in virtual time.

mod forgeries;

use super::*;

const JID: &str = "20261120141841939742";
const QUESTION: &str = "20261120141846939742";

struct Simulation {
    start: Instant,
    now: Instant,
    collector: Collector,
}

impl Simulation {
    fn new(minions: &[&str], change: impl FnOnce(&mut CollectOptions)) -> Self {
        let start = Instant::now();
        let mut options = CollectOptions {
            jid: Jid::parse(JID).unwrap(),
            minions: minions.iter().map(|id| (*id).to_owned()).collect(),
            missing: Vec::new(),
            timeout: Duration::from_secs(5),
            gather_job_timeout: Duration::from_secs(10),
            syndic_wait: None,
        };
        change(&mut options);
        Self {
            start,
            now: start,
            collector: Collector::new(start, options),
        }
    }

    fn at(&mut self, seconds: f64) -> &mut Self {
        self.now = self.start + Duration::from_secs_f64(seconds);
        self
    }

    fn returns(&mut self, id: &str) -> &mut Self {
        let data = Map::from([
            ("id", Value::from(id)),
            ("return", true.into()),
            ("retcode", 0.into()),
        ]);
        self.collector
            .event(self.now, &format!("salt/job/{JID}/ret/{id}"), &data);
        self
    }

    fn asked(&mut self) -> &mut Self {
        self.collector
            .asked(self.now, Some(Jid::parse(QUESTION).unwrap()));
        self
    }

    fn answers(&mut self, id: &str, answer: impl Into<Value>) -> &mut Self {
        let data = Map::from([
            ("id", Value::from(id)),
            ("return", answer.into()),
            ("retcode", 0.into()),
        ]);
        self.collector
            .event(self.now, &format!("salt/job/{QUESTION}/ret/{id}"), &data);
        self
    }

    /// The present actions in short.
    fn done(&mut self) -> Vec<String> {
        let mut done = Vec::new();
        while let Some(output) = self.collector.poll(self.now) {
            done.push(match output {
                Output::Return(Return { id, .. }) => format!("return {id}"),
                Output::Ask(ids) => format!("ask {}", ids.join(",")),
                Output::Missing(id) => format!("missing {id}"),
                Output::Refused => "refused".to_owned(),
                Output::Done => "done".to_owned(),
            });
        }
        done
    }

    /// Seconds from the start to the next timeout.
    fn next(&self) -> Option<f64> {
        let next = self.collector.next_timeout(self.now)?;
        Some((next - self.start).as_secs_f64())
    }
}

fn running() -> Map {
    Map::from([("jid", JID), ("fun", "test.sleep")])
}

#[test]
fn all_return_and_it_ends_at_once() {
    let mut simulation = Simulation::new(&["a", "b"], |_| ());
    assert_eq!(simulation.done(), [""; 0]);
    assert_eq!(simulation.next(), Some(5.0));
    assert_eq!(simulation.at(0.1).returns("b").done(), ["return b"]);
    assert_eq!(simulation.at(0.2).returns("a").done(), ["return a", "done"]);
    assert_eq!(simulation.next(), None);
}

#[test]
fn a_return_that_comes_twice_is_shown_once() {
    let mut simulation = Simulation::new(&["a", "b"], |_| ());
    assert_eq!(simulation.returns("a").returns("a").done(), ["return a"]);
}

#[test]
fn silence_lasts_the_timeout_and_the_gathering() {
    let mut simulation = Simulation::new(&["a"], |_| ());
    assert_eq!(simulation.at(4.9).done(), [""; 0]);
    assert_eq!(simulation.at(5.0).done(), ["ask a"]);
    assert_eq!(simulation.next(), None);
    assert_eq!(simulation.at(5.1).asked().done(), [""; 0]);
    assert_eq!(simulation.next(), Some(15.1));
    assert_eq!(simulation.at(15.0).done(), [""; 0]);
    assert_eq!(simulation.at(15.1).done(), ["missing a", "done"]);
}

#[test]
fn only_those_who_are_silent_are_asked() {
    let mut simulation = Simulation::new(&["a", "b", "c"], |_| ());
    simulation.at(1.0).returns("b").done();
    assert_eq!(simulation.at(5.0).done(), ["ask a,c"]);
}

#[test]
fn a_minion_that_works_is_waited_for_and_asked_again() {
    let mut simulation = Simulation::new(&["a"], |_| ());
    assert_eq!(simulation.at(5.0).done(), ["ask a"]);
    simulation.asked();
    assert_eq!(simulation.at(5.5).answers("a", running()).done(), [""; 0]);
    assert_eq!(simulation.next(), Some(15.0));
    assert_eq!(simulation.at(15.0).done(), ["ask a"]);
    simulation.asked();
    assert_eq!(simulation.at(15.5).answers("a", running()).done(), [""; 0]);
    assert_eq!(
        simulation.at(20.0).returns("a").done(),
        ["return a", "done"]
    );
}

#[test]
fn an_answer_may_overtake_the_news_of_its_question() {
    let mut simulation = Simulation::new(&["a"], |_| ());
    assert_eq!(simulation.at(5.0).done(), ["ask a"]);
    let early = format!("salt/job/{QUESTION}/ret/a");
    assert!(simulation.collector.wants(&early));
    simulation.answers("a", running()).asked();
    assert!(
        !simulation
            .collector
            .wants("salt/job/20260101000000000000/ret/a")
    );
    assert_eq!(simulation.at(15.0).done(), ["ask a"]);
}

#[test]
fn who_stopped_working_without_a_return_is_missing() {
    let mut simulation = Simulation::new(&["a"], |options| {
        options.gather_job_timeout = Duration::from_secs(1);
    });
    simulation.at(5.0).done();
    simulation.asked().at(5.9).answers("a", running());
    assert_eq!(simulation.at(6.0).done(), ["ask a"]);
    simulation.asked().at(6.5).answers("a", Map::new());
    // The window is over at 7, but the answer at 5.9 gave until 10.9.
    assert_eq!(simulation.at(7.0).done(), [""; 0]);
    assert_eq!(simulation.next(), Some(10.9));
    assert_eq!(simulation.at(10.9).done(), ["missing a", "done"]);
}

#[test]
fn an_answer_with_an_error_takes_the_minion_off_the_list() {
    let mut simulation = Simulation::new(&["a", "b"], |_| ());
    simulation.at(1.0).returns("b").done();
    simulation.at(5.0).done();
    simulation.asked();
    let data = Map::from([
        ("id", Value::from("a")),
        ("return", "no".into()),
        ("retcode", 1.into()),
    ]);
    simulation
        .collector
        .event(simulation.now, &format!("salt/job/{QUESTION}/ret/a"), &data);
    assert_eq!(simulation.done(), ["done"]);
}

#[test]
fn a_question_that_could_not_be_asked_ends_after_the_gathering_too() {
    let mut simulation = Simulation::new(&["a"], |_| ());
    simulation.at(5.0).done();
    simulation.collector.asked(simulation.now, None);
    assert_eq!(simulation.next(), Some(15.0));
    assert_eq!(simulation.at(15.0).done(), ["missing a", "done"]);
}

#[test]
fn unknown_ids_are_reported_when_all_others_are_done() {
    let mut simulation = Simulation::new(&["web1", "web2"], |options| {
        options.missing = vec!["nosuch".to_owned()];
    });
    simulation.returns("web1").returns("web2");
    assert_eq!(
        simulation.done(),
        ["return web1", "return web2", "missing nosuch", "done"]
    );
}

#[test]
fn the_event_of_the_new_job_names_more_minions() {
    let mut simulation = Simulation::new(&["a"], |_| ());
    let data = Map::from([
        ("minions", Value::from(vec!["a".into(), "b".into()])),
        ("missing", vec!["x".into()].into()),
    ]);
    simulation
        .collector
        .event(simulation.now, &format!("salt/job/{JID}/new"), &data);
    assert_eq!(simulation.returns("a").done(), ["return a"]);
    assert_eq!(
        simulation.returns("b").done(),
        ["return b", "missing x", "done"]
    );
}

#[test]
fn a_part_of_a_job_leaves_the_rest_to_other_parts() {
    let mut part = Simulation::new(&["web1", "web2"], |_| {});
    part.collector.ignore_others();
    let new = format!("salt/job/{JID}/new");
    assert!(!part.collector.wants(&new));
    let named = Map::from([("minions", Value::List(vec!["db1".into()]))]);
    part.collector.event(part.start, &new, &named);
    assert!(!part.collector.wants(&format!("salt/job/{JID}/ret/db1")));
    assert!(part.collector.wants(&format!("salt/job/{JID}/ret/web1")));
    part.returns("db1").returns("web1").returns("web2");
    let mut reported = Vec::new();
    while let Some(output) = part.collector.poll(part.now) {
        reported.push(output);
    }
    let ids: Vec<&str> = (reported.iter())
        .filter_map(|output| match output {
            Output::Return(value) => Some(value.id.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(ids, ["web1", "web2"]);
    assert_eq!(reported.last(), Some(&Output::Done));
}

#[test]
fn returns_of_minions_that_were_not_expected_are_shown_too() {
    let mut simulation = Simulation::new(&["a"], |_| ());
    assert_eq!(simulation.returns("z").done(), ["return z"]);
    assert_eq!(simulation.returns("a").done(), ["return a", "done"]);
}

#[test]
fn other_events_are_ignored() {
    let mut simulation = Simulation::new(&["a"], |_| ());
    let data = Map::from([("id", "a"), ("return", "x")]);
    for tag in [
        "salt/auth",
        "salt/job/20260101000000000000/ret/a",
        "salt/job",
    ] {
        simulation.collector.event(simulation.now, tag, &data);
    }
    let no_id = Map::from([("return", true)]);
    let malformed = format!("salt/job/{JID}/ret/a");
    simulation
        .collector
        .event(simulation.now, &malformed, &no_id);
    simulation
        .collector
        .event(simulation.now, &format!("salt/job/{JID}/progress"), &data);
    assert_eq!(simulation.done(), [""; 0]);
}

#[test]
fn an_error_on_the_bus_is_a_refusal() {
    let mut simulation = Simulation::new(&["a"], |_| ());
    let data = Map::from([("error", "x")]);
    simulation
        .collector
        .event(simulation.now, &format!("salt/job/{JID}/error"), &data);
    assert_eq!(simulation.done(), ["refused"]);
}

#[test]
fn a_return_is_that_of_the_id_in_its_tag() {
    let mut simulation = Simulation::new(&["a", "b"], |_| ());
    let of = |id: &str| Map::from([("id", id), ("resource_id", "b"), ("return", "x")]);
    let tag = format!("salt/job/{JID}/ret/a");
    simulation.collector.event(simulation.now, &tag, &of("b"));
    simulation.collector.event(simulation.now, &tag, &of("a"));
    assert_eq!(simulation.done(), ["return a"]);
}

#[test]
fn masters_below_have_time_to_name_their_minions() {
    let mut simulation = Simulation::new(&["a"], |options| {
        options.syndic_wait = Some(Duration::from_secs(2));
    });
    assert_eq!(simulation.at(0.5).returns("a").done(), ["return a"]);
    assert_eq!(simulation.next(), Some(2.0));
    let data = Map::from([("minions", Value::from(vec!["below".into()]))]);
    simulation
        .collector
        .event(simulation.now, &format!("syndic/s1/{JID}"), &data);
    assert_eq!(simulation.at(2.0).done(), [""; 0]);
    assert_eq!(
        simulation.at(2.5).returns("below").done(),
        ["return below", "done"]
    );
}

#[test]
fn who_has_no_connection_is_not_waited_for() {
    let mut wait = Simulation::new(&["a", "b"], |_| {});
    wait.at(0.1).returns("a");
    assert_eq!(wait.done(), ["return a"]);
    wait.collector.away(["b".to_owned()]);
    assert_eq!(wait.done(), ["missing b", "done"]);
}

#[test]
fn who_comes_back_is_waited_for_again() {
    let mut wait = Simulation::new(&["a", "b", "c"], |_| {});
    wait.collector.away(["b".to_owned()]);
    wait.at(1.0).returns("a");
    assert_eq!(wait.done(), ["return a"]);
    assert_eq!(wait.at(5.0).done(), ["ask c"]);
    wait.collector.away([]);
    wait.asked().at(6.0).returns("b").returns("c");
    assert_eq!(wait.done(), ["return b", "return c", "done"]);
}
