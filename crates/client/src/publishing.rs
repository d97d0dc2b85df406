//! Commands on their way to the master, and its answers.

use std::sync::PoisonError;
use std::time::Duration;

use halite_key::{KeyState, KeyStore};
use halite_proto::clear::{BatchRequest, PublishReply, PublishRequest};
use halite_proto::publish::FunSpec;
use halite_proto::{Jid, Map, MinionId, Value};
use halite_target::{TargetError, range};

use crate::{BackgroundBatch, ClientError, Job, LocalClient, Nodegroups, Published, blocking};

impl LocalClient {
    /// Sends a command and does not wait for returns. `timeout` is how long
    /// the master has to answer.
    ///
    /// # Errors
    /// When no master answers, or it refuses. `Ok(None)`: the target matches no minion.
    pub async fn publish(
        &self,
        job: &Job,
        timeout: Duration,
    ) -> Result<Option<Published>, ClientError> {
        self.check_running()?;
        let mut request = self.request(job, timeout).await?;
        // Either that, or nobody waits for the returns.
        if self.settings.master_is_ours() {
            request.say_listens();
        }
        let mut reply = self.ask(&request, timeout).await?;
        if reply == PublishReply::Nothing && self.login.is_none() {
            // The key may have changed since it was read.
            let key = self
                .caller
                .read_key(&self.settings.cachedir, &self.settings.user);
            if *key.expose() != self.key() {
                *self.key.lock().unwrap_or_else(PoisonError::into_inner) = key;
                request.credentials = self.credentials();
                reply = self.ask(&request, timeout).await?;
            }
        }
        published(reply)
    }

    /// Gives a command to the master that is to go to a few minions at a time.
    ///
    /// # Errors
    /// When no master answers, it refuses, or it does not know how.
    /// `Ok(None)`: the target matches no minion.
    pub async fn publish_batch(
        &self,
        job: &Job,
        batch: &BackgroundBatch,
        timeout: Duration,
    ) -> Result<Option<Published>, ClientError> {
        self.check_running()?;
        // A master of Salt would log the question as an error.
        if !self.settings.master_is_ours() {
            return Err(no_batches());
        }
        let request = BatchRequest {
            publish: self.request(job, timeout).await?,
            size: batch.size.clone(),
            wait_s: batch.wait.as_secs_f64(),
            failhard: batch.failhard,
        };
        let reply = self.ask_clear(request.to_map(), timeout).await?;
        match PublishReply::from_value(reply).map_err(ClientError::ReplyFields)? {
            // What a master of Salt says to what it does not know.
            PublishReply::Nothing => Err(no_batches()),
            reply => published(reply),
        }
    }

    /// Asks some minions whether they work on the job; the job that asks, or
    /// nothing where nobody could be asked.
    pub(crate) async fn ask_working(&self, jid: &Jid, minions: &[String]) -> Option<Jid> {
        let (pki_dir, place) = (
            self.settings.keys_dir.clone(),
            self.settings.places.keys.clone(),
        );
        let minions = minions.to_vec();
        let accepted = blocking(move || {
            let keys = KeyStore::open_existing_at(&pki_dir, place.as_ref()).ok();
            minions
                .into_iter()
                .filter(|id| is_accepted(keys.as_ref(), id))
                .map(Value::from)
                .collect::<Vec<_>>()
        })
        .await;
        if accepted.is_empty() {
            return None;
        }
        let job = Job {
            target: Value::List(accepted),
            target_kind: "list".to_owned(),
            function: FunSpec::One("saltutil.find_job".to_owned()),
            arguments: vec![Value::from(jid)],
            returners: String::new(),
            options: Map::from([("delimiter", ":")]),
            jid: None,
        };
        let timeout = self.settings.gather_job_timeout;
        let reply = match self.request(&job, timeout).await {
            Ok(request) => self.ask(&request, timeout).await,
            Err(error) => Err(error),
        };
        match reply.and_then(published) {
            Ok(published) => published.map(|published| published.jid),
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, "could not ask who is still working on the job");
                None
            }
        }
    }

    /// The request for a job, with the proof of who commands.
    async fn request(&self, job: &Job, timeout: Duration) -> Result<PublishRequest, ClientError> {
        let (target, kind) = self.target(job).await?;
        let mut returners = job.returners.clone();
        if !self.settings.ext_job_cache.is_empty() {
            if !returners.is_empty() {
                returners.push(',');
            }
            returners.push_str(&self.settings.ext_job_cache);
        }
        let to = self
            .settings
            .syndic_wait
            .map(|_| Value::from(timeout.as_secs()));
        Ok(PublishRequest {
            tgt: target,
            tgt_type: kind,
            fun: job.function.clone(),
            arg: job.arguments.clone(),
            credentials: self.credentials(),
            ret: returners,
            jid: job.jid.clone(),
            kwargs: job.options.clone(),
            user: Some(self.caller.name.clone()),
            to,
            extra: Map::new(),
        })
    }

    /// The target as minions understand it, and its kind.
    async fn target(&self, job: &Job) -> Result<(Value, String), ClientError> {
        let nodegroups = Nodegroups {
            groups: &self.settings.nodegroups,
            file: &self.settings.conf_file,
        };
        let (target, kind) = match (job.target_kind.as_str(), &job.target) {
            ("nodegroup", Value::Str(name)) => (nodegroups.expand(name)?.into(), "compound"),
            ("compound", Value::Str(text)) => (nodegroups.expand_in(text)?.into(), "compound"),
            ("range", Value::Str(expression)) => {
                let server = self.settings.range_server.clone();
                let expression = expression.clone();
                let hosts = blocking(move || server.expand(&expression)).await?;
                (
                    Value::List(hosts.into_iter().map(Value::from).collect()),
                    "list",
                )
            }
            (kind, target) => (target.clone(), kind),
        };
        // Minions need not know the server.
        let target = match &target {
            Value::Str(text) if kind == "compound" && range::is_in(text) => {
                let server = self.settings.range_server.clone();
                let compound = text.clone();
                let written = blocking(move || range::write_out(&compound, &server)).await;
                let failed = |error: TargetError| ClientError::RangeWithin(error.render(text));
                written.map_err(failed)?.into()
            }
            _ => target,
        };
        Ok((target, kind.to_owned()))
    }

    async fn ask(
        &self,
        request: &PublishRequest,
        timeout: Duration,
    ) -> Result<PublishReply, ClientError> {
        let reply = self.ask_clear(request.to_map(), timeout).await?;
        PublishReply::from_value(reply).map_err(ClientError::ReplyFields)
    }
}

/// Only ids with accepted keys can be asked. Who may not see the keys asks
/// everyone.
fn is_accepted(keys: Option<&KeyStore>, id: &str) -> bool {
    let Ok(id) = MinionId::parse(id) else {
        return false;
    };
    let version = |keys: &KeyStore| keys.version(KeyState::Accepted, &id);
    keys.is_none_or(|keys| version(keys).map_or(true, |version| version.is_some()))
}

fn no_batches() -> ClientError {
    let why = "this master cannot run batches by itself; run them without --async";
    ClientError::Refused(why.to_owned())
}

fn published(reply: PublishReply) -> Result<Option<Published>, ClientError> {
    match reply {
        PublishReply::Accepted {
            jid,
            minions,
            missing,
            is_ours,
            trouble,
        } => {
            if let Some(trouble) = trouble {
                tracing::warn!("{trouble}");
            }
            tracing::debug!(%jid, minions = minions.len(), "the job is published");
            Ok(Some(Published {
                jid,
                minions: minions.into_iter().map(String::from).collect(),
                missing,
                master_is_ours: is_ours,
            }))
        }
        PublishReply::NoMinions { error } => {
            tracing::debug!(error, "the master found nobody");
            Ok(None)
        }
        PublishReply::Denied(error) => Err(ClientError::Denied(error.message)),
        PublishReply::Error(text) => Err(ClientError::Refused(text)),
        PublishReply::Refused(refusal) => Err(ClientError::Refused(halite_proto::python::str(
            &refusal.to_value(),
        ))),
        PublishReply::Nothing => Err(ClientError::Nothing),
    }
}
