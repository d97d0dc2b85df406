//! The shell around one [`Link`]: performs what the state machine asks for and
//! reports what happened. One task per master; no task waits for another.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use halite_proto::Appointment;
use halite_proto::publisher::{PublishedBefore, keeps_no_jobs};
use halite_transport::Endpoint;
use halite_transport::fleet::{Requester, Subscriber, SubscriberEvent};
use tokio::sync::{mpsc, watch};
use tracing::{debug, info, warn};

use super::channel::Session;
use super::lookup::address_of;
use super::notices::say;
use super::signing_in::{ping, sign_in};
use super::signs::{Signs, signs_of_life};
use super::status::Reporter;
use super::trust_store::TrustStore;
use super::words::{LinkInput, LinkOutput, LinkSettings};
use crate::core::link::{Input, Link, Output};
use crate::core::publication::{Gates, Opener, PublicationError};
use crate::core::sign_in::{Credentials, Identity, chain};
use crate::limits::PUBLICATIONS_HELD_MAX;
use crate::records::gates::KeptGates;

/// What a running link shares with the rest of the minion.
pub(crate) struct LinkTask {
    settings: LinkSettings,
    identity: Arc<Identity>,
    trust: Arc<TrustStore>,
    inputs: mpsc::Receiver<LinkInput>,
    own_inputs: mpsc::Sender<LinkInput>,
    outputs: mpsc::Sender<LinkOutput>,
    session: watch::Sender<Option<Session>>,
    reporter: Reporter,
    link: Link,
    subscriber: Option<Subscriber>,
    opener: Option<Opener>,
    gates: Gates,
    kept_gates: Arc<KeptGates>,
    requester: Option<Requester>,
    held: VecDeque<Vec<u8>>,
    /// What a busy master has said to the last sign-in.
    appointment: Option<Appointment>,
    signs: Arc<Signs>,
    /// Whether the link is to be up; a requested disconnection is not reported as a loss.
    wanted: bool,
}

impl LinkTask {
    /// A link that is down.
    #[expect(clippy::too_many_arguments, reason = "each end of each queue, once")]
    pub(crate) fn new(
        settings: LinkSettings,
        identity: Arc<Identity>,
        trust: Arc<TrustStore>,
        inputs: (mpsc::Sender<LinkInput>, mpsc::Receiver<LinkInput>),
        outputs: mpsc::Sender<LinkOutput>,
        session: watch::Sender<Option<Session>>,
        reporter: Reporter,
        kept_gates: Arc<KeptGates>,
        signs: Arc<Signs>,
        seed: u64,
    ) -> Self {
        let gates = kept_gates.earlier(&settings.uri);
        let link = Link::new(settings.timing.clone(), seed);
        Self {
            settings,
            identity,
            trust,
            inputs: inputs.1,
            own_inputs: inputs.0,
            outputs,
            session,
            reporter,
            link,
            subscriber: None,
            opener: None,
            gates,
            kept_gates,
            requester: None,
            held: VecDeque::new(),
            appointment: None,
            signs,
            wanted: false,
        }
    }

    /// Keeps the link up or down as requested, until it is stopped.
    pub(crate) async fn run(mut self) {
        loop {
            while let Some(output) = self.link.poll() {
                self.perform(output).await;
            }
            let timeout = self.link.next_timeout();
            self.reporter.is_at(self.link.phase(), timeout);
            tokio::select! {
                input = self.inputs.recv() => match input {
                    Some(LinkInput::End) | None => break,
                    Some(input) => self.take(input).await,
                },
                event = next_event(&mut self.subscriber) => self.feed(event).await,
                () = sleep_until(timeout) => self.link.handle_timeout(Instant::now()),
            }
        }
        self.session.send_replace(None);
    }

    async fn perform(&mut self, output: Output) {
        match output {
            Output::Resolve => self.resolve(),
            Output::SignIn { address } => self.sign_in(address),
            Output::Subscribe { address, port } => {
                let port = self.settings.publish_port.unwrap_or(port);
                let endpoint = Endpoint::tcp(&address.to_string(), port);
                debug!(%endpoint, "subscribing");
                let mut options = self.settings.subscribe.clone();
                options.ipv6 = address.is_ipv6();
                let signs = signs_of_life(&self.session, &self.identity, &self.signs);
                options.signs_of_life = Some(signs);
                self.subscriber = Some(Subscriber::connect(endpoint, options));
            }
            Output::Unsubscribe => self.subscriber = None,
            Output::Ping => self.ping(),
            Output::Ready { first } => {
                info!("Minion is ready to receive requests!");
                self.tell(LinkOutput::Ready { first }).await;
            }
            Output::Lost => {
                if self.wanted {
                    warn!("connection lost");
                }
                self.tell(LinkOutput::Lost).await;
            }
            Output::RefusedForGood => self.tell(LinkOutput::Rejected).await,
            Output::Say(notice) => {
                say(&notice);
                self.tell(LinkOutput::Stuck(notice)).await;
            }
        }
    }

    async fn take(&mut self, input: LinkInput) {
        let now = Instant::now();
        match input {
            LinkInput::Refused { session } => {
                let credentials = session;
                self.link.handle(now, Input::Refused { credentials });
            }
            LinkInput::Resolved(Ok(address)) => {
                self.reporter.resolved(address);
                self.link.handle(now, Input::Resolved(address));
            }
            LinkInput::Resolved(Err(why)) => {
                self.reporter.failed(&format!("name lookup: {why}"));
                self.link.handle(now, Input::NotResolved(why));
            }
            LinkInput::SignedIn(Ok((credentials, requester))) => {
                self.signed_in(now, *credentials, requester).await;
            }
            LinkInput::SignedIn(Err(failed)) => {
                debug!(detail = failed.detail, "sign-in failed");
                self.reporter.failed(&format!("sign-in: {}", failed.detail));
                self.requester = None;
                self.appointment = failed.appointment;
                self.link.handle(now, Input::SignInFailed(failed.failure));
            }
            LinkInput::Pinged(answered) => {
                if !answered {
                    self.reporter.failed("the master does not answer a ping");
                }
                self.link.handle(now, Input::Pinged(answered));
            }
            LinkInput::Deaf => {
                self.reporter
                    .failed("jobs did not arrive through the subscription");
                self.link.handle(now, Input::Disconnected);
            }
            LinkInput::Up => {
                self.wanted = true;
                self.link.handle(now, Input::Start);
            }
            LinkInput::Down => {
                self.wanted = false;
                self.link.handle(now, Input::Stop);
                self.session.send_replace(None);
                self.requester = None;
                self.opener = None;
                self.held.clear();
            }
            LinkInput::End => {}
        }
    }

    async fn signed_in(&mut self, now: Instant, credentials: Credentials, requester: Requester) {
        let publish_port = credentials.publish_port;
        self.opener = Some(Opener::new(&credentials, self.settings.signature_required));
        // What was published before is asked for, not taken from the wire: it may
        // have been recorded there. Who cannot ask takes what is under way through a
        // subscription that stands.
        let was_ready = self.link.is_ready();
        let can_ask = !keeps_no_jobs(&credentials.extra);
        let before = PublishedBefore::of(&credentials.extra).filter(|_| can_ask || !was_ready);
        if let Some(before) = before {
            self.gates.raise(&credentials.publish_hash, before, can_ask);
            self.keep_gates();
        }
        self.link.handle(now, Input::SignedIn { publish_port });
        self.requester = Some(requester.clone());
        self.session.send_replace(Some(Session {
            number: self.link.credentials(),
            requester,
            credentials: Arc::new(credentials),
        }));
        if was_ready && before.is_some() {
            self.tell(LinkOutput::Renewed).await;
        }
        for payload in std::mem::take(&mut self.held) {
            self.publication(payload, false).await;
        }
    }

    async fn feed(&mut self, event: Option<SubscriberEvent>) {
        let now = Instant::now();
        match event {
            Some(SubscriberEvent::Connected) => self.link.handle(now, Input::Connected),
            Some(SubscriberEvent::Disconnected) => {
                self.reporter.failed("the connection was lost");
                self.link.handle(now, Input::Disconnected);
            }
            Some(SubscriberEvent::Publication(payload)) => {
                if !self.signs.take(&self.session, &payload) {
                    self.publication(payload, true).await;
                }
            }
            None => {
                self.subscriber = None;
                self.link.handle(now, Input::Disconnected);
            }
        }
    }

    /// Opens one publication. One that does not open may be under a key that
    /// the master has just rotated: `hold` keeps it for after a new sign-in.
    async fn publication(&mut self, payload: Vec<u8>, hold: bool) {
        let Some(opener) = &self.opener else {
            return;
        };
        match opener.open(&payload, &mut self.gates) {
            Ok(job) => {
                self.keep_gates();
                self.tell(LinkOutput::Job(job)).await;
            }
            Err(PublicationError::NotAuthentic) if hold => {
                debug!("a publication cannot be decrypted, signing in again");
                if self.held.len() >= PUBLICATIONS_HELD_MAX {
                    self.held.pop_front();
                }
                self.held.push_back(payload);
                let credentials = self.link.credentials();
                self.link
                    .handle(Instant::now(), Input::Refused { credentials });
            }
            Err(error @ PublicationError::Replayed) => debug!("{error}"),
            Err(error) => warn!("a publication was discarded: {}", chain(&error)),
        }
    }

    fn resolve(&self) {
        let inputs = self.own_inputs.clone();
        let uri = self.settings.uri.clone();
        let ipv6 = self.settings.ipv6;
        tokio::spawn(async move {
            let resolved = address_of(&uri, ipv6).await;
            let _ = inputs.send(LinkInput::Resolved(resolved)).await;
        });
    }

    fn sign_in(&mut self, address: IpAddr) {
        let endpoint = Endpoint::tcp(&address.to_string(), self.settings.uri.port());
        // A kept connection saves a handshake; one to another address is none.
        let requester = match self.requester.take() {
            Some(requester) if *requester.endpoint() == endpoint => requester,
            _ => {
                let mut options = self.settings.request.clone();
                options.ipv6 = address.is_ipv6();
                Requester::connect(endpoint, options)
            }
        };
        let inputs = self.own_inputs.clone();
        let identity = Arc::clone(&self.identity);
        let trust = Arc::clone(&self.trust);
        let autosign = self.settings.autosign_grains.clone();
        let appointment = self.appointment.take();
        let timeout = self.settings.auth_timeout;
        tokio::spawn(async move {
            let result = sign_in(&requester, identity, trust, autosign, appointment, timeout).await;
            let result = result.map(|credentials| (Box::new(credentials), requester));
            let _ = inputs.send(LinkInput::SignedIn(result)).await;
        });
    }

    fn ping(&self) {
        let Some(requester) = self.requester.clone() else {
            return;
        };
        let inputs = self.own_inputs.clone();
        let timeout = self.settings.auth_timeout;
        tokio::spawn(async move {
            let answered = ping(&requester, timeout).await;
            let _ = inputs.send(LinkInput::Pinged(answered)).await;
        });
    }

    /// The gates outlive the process. `salt-call` hears no publications, and leaves
    /// the daemon's file alone.
    fn keep_gates(&self) {
        if self.settings.timing.subscribes {
            self.kept_gates.keep(&self.settings.uri, &self.gates);
        }
    }

    async fn tell(&self, output: LinkOutput) {
        // The minion outlives its links; if it is gone, so is the reason.
        let _ = self.outputs.send(output).await;
    }
}

async fn next_event(subscriber: &mut Option<Subscriber>) -> Option<SubscriberEvent> {
    match subscriber {
        Some(subscriber) => subscriber.recv().await,
        None => std::future::pending().await,
    }
}

/// Waits for a timer, or for ever without one.
pub(crate) async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}
