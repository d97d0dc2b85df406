//! Waits for the returns of one command.

use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

use halite_proto::event::is_trimmed;
use halite_proto::{Jid, Map, MinionId, chain};
use halite_transport::ipc::{BusEvent, EventSubscriber};

use super::bus_news::{BACK_WITHIN, BusNews, RECONNECT_PAUSE, next_event};
use super::look::Look;
use super::{ClientError, FleetProgress, LocalClient, Published, blocking, connected};
use halite_gather::{CollectOptions, Collector, Output, Return, words};

/// What is known of one minion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// It returned.
    Returned(Return),
    /// It did not; the text says so to people.
    Missing {
        /// Who.
        id: String,
        /// What to say.
        text: String,
    },
}

impl Report {
    /// Whom it is about.
    pub fn id(&self) -> &str {
        match self {
            Self::Returned(value) => &value.id,
            Self::Missing { id, .. } => id,
        }
    }
}

/// A command whose returns are waited for.
pub struct Session<'a> {
    client: &'a LocalClient,
    published: Published,
    collector: Collector,
    bus: Option<EventSubscriber>,
    /// The bus was away: what it carried meanwhile is in the job cache only.
    was_lost: bool,
    /// When a bus that is away means that the master is gone.
    gone_at: Option<Instant>,
    question: Option<Pin<Box<dyn Future<Output = Option<Jid>> + Send + 'a>>>,
    connected: Option<connected::Connected>,
    silence: Look<'a>,
}

impl<'a> Session<'a> {
    pub(super) fn new(
        client: &'a LocalClient,
        bus: Option<EventSubscriber>,
        published: Published,
        timeout: Duration,
    ) -> Self {
        let settings = client.settings();
        let collector = Collector::new(
            Instant::now(),
            CollectOptions {
                jid: published.jid.clone(),
                minions: published.minions.clone(),
                missing: published.missing.clone(),
                timeout,
                gather_job_timeout: settings.gather_job_timeout,
                syndic_wait: settings.syndic_wait,
            },
        );
        let polled = match &bus {
            Some(_) => Vec::new(),
            None => vec![published.jid.clone()],
        };
        let silence = Look::new(polled, published.master_is_ours);
        Self {
            client,
            published,
            collector,
            bus,
            was_lost: false,
            gone_at: None,
            question: None,
            connected: None,
            silence,
        }
    }

    /// How far the state runs of the job are, where minions tell.
    pub fn places(&self) -> FleetProgress {
        self.client.places()
    }

    /// The job, and who should return.
    pub fn published(&self) -> &Published {
        &self.published
    }

    /// The next minion's return, or that it is missing; `None` when every
    /// minion was reported.
    ///
    /// # Errors
    /// When the master refused after all, or went away and stayed away.
    pub async fn next(&mut self) -> Result<Option<Report>, ClientError> {
        loop {
            if self.gone_at.is_some_and(|at| at <= Instant::now()) {
                // What has come until then is shown.
                if let Some(Output::Return(value)) = self.collector.poll(Instant::now()) {
                    return Ok(Some(Report::Returned(self.untrimmed(value).await)));
                }
                let jid = self.published.jid.clone();
                return Err(ClientError::Gone { jid });
            }
            match self.collector.poll(Instant::now()) {
                Some(Output::Return(value)) => {
                    return Ok(Some(Report::Returned(self.untrimmed(value).await)));
                }
                Some(Output::Missing(id)) => {
                    self.ask_why().await;
                    if let Some(report) = self.missing(id) {
                        return Ok(Some(report));
                    }
                }
                Some(Output::Ask(ids)) => {
                    if self.was_lost {
                        self.catch_up().await;
                    }
                    let client = self.client;
                    let jid = self.published.jid.clone();
                    self.question = Some(Box::pin(
                        async move { client.ask_working(&jid, &ids).await },
                    ));
                }
                Some(Output::Refused) => {
                    return Err(ClientError::Denied(
                        "Authorization error occurred".to_owned(),
                    ));
                }
                Some(Output::Done) => return Ok(None),
                None => self.wait().await,
            }
        }
    }

    /// Takes only the returns of minions that are expected: those of others belong to
    /// another part of the same job.
    pub(super) fn ignore_others(&mut self) {
        self.collector.ignore_others();
    }

    /// How many minions were named so far.
    pub fn expected_count(&self) -> usize {
        self.collector.expected_count()
    }

    /// Who has not returned yet.
    pub fn pending(&self) -> Vec<String> {
        self.collector.pending().map(str::to_owned).collect()
    }

    /// The return as the job cache has it, where it was too large for an
    /// event.
    async fn untrimmed(&mut self, mut value: Return) -> Return {
        if !is_trimmed(&value.value) {
            return value;
        }
        let settings = self.client.settings().clone();
        let Ok(id) = MinionId::parse(value.id.as_str()) else {
            return value;
        };
        // Salt's masters tell of a return before they have kept it.
        for _ in 0..CACHE_TRIES_MAX {
            let (settings, jid, id) = (settings.clone(), self.published.jid.clone(), id.clone());
            let kept = blocking(move || settings.store().jobs.return_of(&jid, &id)).await;
            match kept {
                Ok(Some(stored)) => {
                    value.value = stored.ret().clone();
                    return value;
                }
                Ok(None) => tokio::time::sleep(RECONNECT_PAUSE).await,
                Err(error) => {
                    tracing::warn!(
                        "could not read a large return from the job cache, it is shown in part: {}",
                        chain(&error)
                    );
                    return value;
                }
            }
        }
        tracing::warn!(
            id = value.id,
            "a large return is shown in part: the job cache does not have it"
        );
        value
    }

    /// Waits until there is something to poll for.
    async fn wait(&mut self) {
        let now = Instant::now();
        self.ask_silence_when_due(now);
        let timeout = self.collector.next_timeout(now);
        let timeout = match (timeout, self.gone_at) {
            (Some(timeout), Some(gone)) => Some(timeout.min(gone)),
            (timeout, gone) => timeout.or(gone),
        };
        let timer = async {
            match timeout {
                Some(at) => tokio::time::sleep_until(at.into()).await,
                None => std::future::pending().await,
            }
        };
        let question = async {
            match &mut self.question {
                Some(question) => question.await,
                None => std::future::pending().await,
            }
        };
        let next_look = self.silence.next.filter(|_| self.silence.asking.is_none());
        let look = async {
            match &mut self.silence.asking {
                Some(asking) => Some(asking.await),
                None => match next_look {
                    Some(at) => {
                        tokio::time::sleep_until(at.into()).await;
                        None
                    }
                    None => std::future::pending().await,
                },
            }
        };
        tokio::select! {
            event = next_event(&mut self.bus, &self.client.settings().event_pub),
                if self.silence.polled.is_empty() =>
            {
                self.take_bus_news(event).await;
            }
            answer = question => {
                self.question = None;
                if let (Some(asking), false) = (&answer, self.silence.polled.is_empty()) {
                    self.silence.polled.push(asking.clone());
                }
                self.collector.asked(Instant::now(), answer);
            }
            looked = look => {
                if let Some(answer) = looked {
                    self.silence.taken(answer);
                    self.take_what_master_knows();
                }
            }
            () = timer => {}
        }
    }

    /// Asks the master about those who are missing, if it is time to.
    fn ask_silence_when_due(&mut self, now: Instant) {
        if self.silence.asking.is_some() || self.silence.next.is_none_or(|next| next > now) {
            return;
        }
        let client = self.client;
        let ids = match self.silence.master_is_ours {
            true => self.collector.pending().map(str::to_owned).collect(),
            false => Vec::new(),
        };
        let jids = self.silence.polled.clone();
        let about = self.published.jid.clone();
        self.silence.asking = Some(Box::pin(client.ask_silence(ids, jids, about)));
    }

    async fn take_bus_news(&mut self, news: BusNews) {
        match news {
            BusNews::Event(event) => self.event(&event),
            BusNews::Lost => {
                self.was_lost = true;
                self.gone_at = Some(Instant::now() + BACK_WITHIN);
            }
            BusNews::Back => {
                self.gone_at = None;
                self.catch_up().await;
            }
        }
    }

    /// Takes over why minions are silent, and returns that were not heard.
    fn take_what_master_knows(&mut self) {
        if let Some(known) = &mut self.silence.known {
            self.client.places.silent(known.reasons());
            self.collector.away(known.gone());
            let returns = std::mem::take(&mut known.returns);
            take_polled(&mut self.collector, returns);
        }
    }

    /// Asks the master once why those who are missing are.
    async fn ask_why(&mut self) {
        if self.silence.is_final {
            return;
        }
        self.silence.is_final = true;
        let is_asked = self.silence.next.is_some() || self.silence.asking.is_some();
        if is_asked && self.silence.master_is_ours {
            let ids = self.collector.missing().map(str::to_owned).collect();
            let about = self.published.jid.clone();
            let answer = self.client.ask_silence(ids, Vec::new(), about).await;
            self.silence.taken(answer);
        }
    }

    /// Takes the returns that came while the bus was away from the job cache.
    /// Those that were seen before are not taken twice.
    async fn catch_up(&mut self) {
        let settings = self.client.settings().clone();
        let jid = self.published.jid.clone();
        let asked = jid.clone();
        let returns = blocking(move || settings.store().jobs.returns(&asked)).await;
        let returns = match returns {
            Ok(returns) => returns,
            Err(error) => {
                tracing::warn!("returns may be missing: {}", chain(&error));
                return;
            }
        };
        let prefix = Collector::tag_prefix(&jid);
        for (id, stored) in returns {
            let mut data = stored.into_map();
            data.insert("id", &id);
            self.collector
                .event(Instant::now(), &format!("{prefix}ret/{id}"), &data);
        }
    }

    fn event(&mut self, event: &BusEvent) {
        // Most events of a busy bus are others'; only ours are unpacked.
        if !self.collector.wants(event.tag()) {
            return;
        }
        match event.unpack() {
            Ok(unpacked) => {
                let now = Instant::now();
                let job = Collector::tag_prefix(&self.published.jid);
                if let Some(rest) = unpacked.tag.as_str().strip_prefix(&job) {
                    self.client.places.take(rest, &unpacked.data, now);
                }
                self.collector
                    .event(now, unpacked.tag.as_str(), &unpacked.data);
            }
            Err(error) => tracing::warn!(%error, tag = event.tag(), "cannot read an event"),
        }
    }

    /// What to say of a missing minion; nothing of a master below this one.
    fn missing(&mut self, id: String) -> Option<Report> {
        let settings = self.client.settings();
        if settings.syndic_dir.join(&id).exists() {
            return None;
        }
        let known = self.silence.known.as_ref();
        let text = known.and_then(|known| known.text(&id, &self.published.jid));
        if let Some(text) = text {
            return Some(Report::Missing { id, text });
        }
        let connected = self
            .connected
            .get_or_insert_with(|| connected::Connected::read(settings));
        let text = if connected.is_surely_not(&id) {
            words::NOT_CONNECTED.to_owned()
        } else {
            words::no_response(&self.published.jid)
        };
        Some(Report::Missing { id, text })
    }
}

/// How often the job cache is looked at for a large return.
pub(super) const CACHE_TRIES_MAX: usize = 10;

/// Hands returns over that the master was asked for, as if the bus had said
/// them.
fn take_polled(collector: &mut Collector, returns: Map) {
    for (jid, minions) in &returns {
        let minions = minions.as_map().into_iter().flatten();
        for (id, data) in minions {
            if let (Some(jid), Some(id), Some(data)) = (jid.as_str(), id.as_str(), data.as_map()) {
                let mut data = data.clone();
                data.insert("id", id);
                let tag = format!("salt/job/{jid}/ret/{id}");
                collector.event(Instant::now(), &tag, &data);
            }
        }
    }
}
