//! What every transport must do: one suite, run over each of them.
//!
//! A new transport is one more line below. Tests of a single transport are in
//! `tests/`.

mod publications;
mod requests;

use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::{
    PublishPort, PublishPortOptions, RequestPort, RequestPortOptions, Requester, RequesterOptions,
    SubscribeOptions, Subscriber, Transport,
};
use crate::{BindError, Endpoint};

/// Long enough for a loaded machine; nothing waits for it when all is well.
const SOON: Duration = Duration::from_secs(60);

/// The suite, for one transport.
macro_rules! conformance {
    ($name:ident: $variant:expr) => {
        mod $name {
            use super::*;

            conformance! { $variant =>
                requests::a_request_is_answered
                requests::many_peers_get_their_own_answers
                requests::answers_may_come_in_any_order
                requests::a_late_reply_is_never_taken_for_the_next_request
                requests::a_dropped_request_does_not_disturb_the_next
                requests::a_port_waits_for_its_program_and_loses_nothing
                requests::a_request_above_the_limit_is_refused_on_both_sides
                requests::nobody_at_the_other_end_is_no_connection
                requests::queued_replies_are_sent_before_a_port_closes
                requests::a_port_that_turns_away_answers_what_was_asked
                requests::a_closed_port_fails_requests_and_can_be_bound_again
                requests::a_reply_to_a_closed_port_is_an_error
                requests::a_port_in_use_is_named
                publications::all_get_what_is_for_everyone_in_order
                publications::filtering_subscribers_get_what_is_for_them
                publications::a_proven_minion_gets_nothing_that_is_for_others_only
                publications::where_syndics_may_be_all_get_everything
                publications::without_filtering_all_get_everything
                publications::a_slow_subscriber_loses_what_it_has_no_room_for
                publications::a_subscriber_says_when_its_port_goes_and_comes
                publications::a_port_that_hands_over_sends_what_is_queued_and_makes_room
                publications::presence_begins_and_ends_with_what_is_proven
                publications::connections_that_prove_no_minion_are_counted
                publications::who_proves_nothing_has_no_presence
                publications::who_has_proven_a_minion_is_answered
            }
        }
    };
    ($variant:expr => $($part:ident::$case:ident)*) => {
        $(
            #[tokio::test]
            async fn $case() {
                $part::$case($variant).await;
            }
        )*
    };
}

conformance!(zeromq: Variant::Built(Transport::ZeroMq));
conformance!(in_process: Variant::InProcess);

/// A transport under test.
#[derive(Clone, Copy)]
enum Variant {
    /// One that programs can choose.
    Built(Transport),
    /// The one of this crate's tests.
    InProcess,
}

impl Variant {
    fn request_port(
        self,
        at: &Endpoint,
        options: RequestPortOptions,
    ) -> Result<RequestPort, BindError> {
        let at = std::slice::from_ref(at);
        match self {
            Self::Built(transport) => RequestPort::bind(
                at,
                RequestPortOptions {
                    transport,
                    ..options
                },
            ),
            Self::InProcess => RequestPort::bind_in_process(at, options),
        }
    }

    fn requester(self, at: &Endpoint, options: RequesterOptions) -> Requester {
        match self {
            Self::Built(transport) => Requester::connect(
                at.clone(),
                RequesterOptions {
                    transport,
                    ..options
                },
            ),
            Self::InProcess => Requester::connect_in_process(at.clone(), options),
        }
    }

    fn publish_port(
        self,
        at: &Endpoint,
        options: PublishPortOptions,
    ) -> Result<PublishPort, BindError> {
        let at = std::slice::from_ref(at);
        match self {
            Self::Built(transport) => PublishPort::bind(
                at,
                PublishPortOptions {
                    transport,
                    ..options
                },
            ),
            Self::InProcess => PublishPort::bind_in_process(at, options),
        }
    }

    fn subscriber(self, at: &Endpoint, options: SubscribeOptions) -> Subscriber {
        match self {
            Self::Built(transport) => Subscriber::connect(
                at.clone(),
                SubscribeOptions {
                    transport,
                    ..options
                },
            ),
            Self::InProcess => Subscriber::connect_in_process(at.clone(), options),
        }
    }
}

fn loopback() -> Endpoint {
    Endpoint::tcp("127.0.0.1", 0)
}

/// An address for whoever binds a port again that was free in between: no
/// other test's connections and listeners get ports there.
fn own_loopback(number: u8) -> Endpoint {
    Endpoint::tcp(&format!("127.0.8.{number}"), 0)
}

/// Binds as soon as the last owner's socket is closed.
async fn bind_again<T>(mut bind: impl FnMut() -> Result<T, BindError>) -> T {
    let deadline = Instant::now() + SOON;
    loop {
        match bind() {
            Ok(port) => return port,
            Err(BindError::InUse { .. }) if Instant::now() < deadline => {
                sleep(Duration::from_millis(5)).await;
            }
            Err(error) => panic!("{error}"),
        }
    }
}
