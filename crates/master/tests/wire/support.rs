//! A master in this process, and a handmade minion that speaks to it with only the
//! wire's types.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use halite_config::{LoadOptions, MasterConfig, Port, load_master};
use halite_crypto::{
    Crypticle, EncAlgo, Opened, PrivateKey, PublicKey, SigAlgo, SymmetricKey, random_bytes,
};
use halite_master::Daemon;
use halite_proto::auth::{AuthAnswer, AuthGrant, AuthReply, AuthRequest};
use halite_proto::clear::{Credentials, Standing, StandingReply, StandingRequest};
use halite_proto::envelope::{Reply, RequestEnvelope};
use halite_proto::msgpack::{pack_wire, unpack_wire};
use halite_proto::request::{MinionRequest, Request, RequestMeta};
use halite_proto::{Capabilities, Map, MinionId, Nonce, Refusal, SignOfLife, Value};
use halite_store::{BackendOptions, Faults, StoreOptions};
use halite_transport::Endpoint;
use halite_transport::fleet::{Requester, RequesterOptions};
use halite_transport::ipc::EventSubscriber;
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Longer than anything here takes, also on a busy machine.
pub(crate) const SOON: Duration = Duration::from_secs(60);

/// A master that runs in this process.
pub(crate) struct Master {
    pub(crate) dir: TempDir,
    pub(crate) requests: Endpoint,
    pub(crate) publications: Endpoint,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

/// The configuration of a master below `dir`, with more lines of YAML.
pub(crate) fn config(dir: &Path, more: &str) -> MasterConfig {
    fs::create_dir_all(dir.join("srv")).unwrap();
    let text = format!(
        "root_dir: {root}\ninterface: 127.0.0.1\nid: m1_master\npki_dir: {root}/pki\n\
         cachedir: {root}/cache\nsock_dir: {root}/run\nkeysize: 2048\n\
         file_roots: {{base: [{root}/srv]}}\n{more}\n",
        root = dir.display()
    );
    fs::write(dir.join("master"), text).unwrap();
    let options = LoadOptions {
        config_dir: Some(dir.to_owned()),
        ..LoadOptions::default()
    };
    let mut config = load_master(&options).unwrap().config;
    config.ret_port = Port(0);
    config.publish_port = Port(0);
    config.cluster_pool_port = Port(0);
    config
}

impl Master {
    /// Starts a master with these lines in its configuration.
    pub(crate) fn start(more: &str) -> Self {
        let dir = TempDir::new().unwrap();
        Self::start_in(dir, more)
    }

    /// Starts a master in a directory that may hold what another one left.
    pub(crate) fn start_in(dir: TempDir, more: &str) -> Self {
        Self::make_keys(dir.path());
        let daemon = Daemon::start(&config(dir.path(), more)).unwrap();
        Self::run(dir, daemon)
    }

    /// Starts a master on files that fail as `faults` say.
    pub(crate) fn start_with_faults(faults: Faults) -> Self {
        Self::start_with_faults_and(faults, "")
    }

    /// The same with more lines in its configuration.
    pub(crate) fn start_with_faults_and(faults: Faults, more: &str) -> Self {
        let dir = TempDir::new().unwrap();
        Self::make_keys(dir.path());
        let store = StoreOptions::all(BackendOptions::Faulty {
            cachedir: dir.path().join("cache"),
            faults,
        });
        let daemon = Daemon::start_with_store(&config(dir.path(), more), &store).unwrap();
        Self::run(dir, daemon)
    }

    /// Making a key takes longer than everything else.
    fn make_keys(dir: &Path) {
        let pki = dir.join("pki");
        if !pki.exists() {
            fs::create_dir_all(&pki).unwrap();
            let pair = fs::read(fixture("master.pem")).unwrap();
            fs::write(pki.join("m1.pem"), pair).unwrap();
        }
    }

    fn run(dir: TempDir, daemon: Daemon) -> Self {
        let (stop, stopped) = oneshot::channel();
        Self {
            dir,
            requests: daemon.request_endpoints()[0].clone(),
            publications: daemon.publish_endpoints()[0].clone(),
            stop,
            task: tokio::spawn(daemon.run(async {
                let _ = stopped.await;
            })),
        }
    }

    /// Stops it and gives its directory.
    pub(crate) async fn stop(self) -> TempDir {
        self.stop.send(()).unwrap();
        tokio::time::timeout(SOON, self.task)
            .await
            .unwrap()
            .unwrap();
        self.dir
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    /// The store of the master.
    pub(crate) fn store(&self) -> halite_store::Store {
        halite_store::open(&StoreOptions::local_fs(
            self.path("cache"),
            halite_crypto::HashType::Sha256,
        ))
    }

    /// A client of the request port.
    pub(crate) fn client(&self) -> Requester {
        Requester::connect(self.requests.clone(), RequesterOptions::default())
    }

    /// Sends bytes and reads the answer.
    pub(crate) async fn ask(&self, bytes: Vec<u8>) -> Value {
        let reply = self.client().request(bytes, SOON).await.unwrap();
        unpack_wire(&reply).unwrap()
    }

    /// Sends a command in the clear.
    pub(crate) async fn ask_clear(&self, load: Map) -> Value {
        let envelope = RequestEnvelope::clear(load).encode().unwrap();
        self.ask(envelope).await
    }

    /// Subscribes to the event bus.
    pub(crate) async fn events(&self) -> EventSubscriber {
        let socket = Endpoint::ipc(self.path("run/master_event_pub.ipc"));
        EventSubscriber::connect(&socket).await.unwrap()
    }

    /// What the master says of a minion to a program that waits for it.
    pub(crate) async fn standing(&self, id: &str) -> Standing {
        let question = StandingRequest {
            minions: vec![id.to_owned()],
            jids: Vec::new(),
            about: None,
            user: Some("root".to_owned()),
            credentials: Credentials {
                key: Some(self.root_key()),
                ..Credentials::default()
            },
        };
        let reply = self.ask_clear(question.to_map()).await;
        let reply = StandingReply::from_value(reply).unwrap().unwrap();
        let mut minions = reply.minions.into_iter();
        minions.find(|(of, _)| of.as_str() == id).unwrap().1
    }

    pub(crate) fn root_key(&self) -> String {
        fs::read_to_string(self.path("cache/.root_key")).unwrap()
    }

    /// Where the key of `id` lies.
    pub(crate) fn key_state(&self, id: &str) -> Vec<&'static str> {
        [
            "minions",
            "minions_pre",
            "minions_rejected",
            "minions_denied",
        ]
        .into_iter()
        .filter(|state| self.path("pki").join(state).join(id).exists())
        .collect()
    }

    pub(crate) fn move_key(&self, id: &str, from: &str, to: &str) {
        let pki = self.path("pki");
        fs::rename(pki.join(from).join(id), pki.join(to).join(id)).unwrap();
    }
}

pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

/// A minion made by hand.
pub(crate) struct Minion {
    pub(crate) id: MinionId,
    pub(crate) key: PrivateKey,
    pub(crate) client: Requester,
    pub(crate) grant: Option<AuthGrant>,
    pub(crate) session: Option<Crypticle>,
    pub(crate) publish: Option<Crypticle>,
}

impl Minion {
    pub(crate) fn new(master: &Master, id: &str) -> Self {
        // Minions share two keys: making one takes longer than a test.
        Self::with_key(master, id, "minion.pem")
    }

    pub(crate) fn with_key(master: &Master, id: &str, key: &str) -> Self {
        Self {
            id: MinionId::parse(id).unwrap(),
            key: PrivateKey::from_pem(&fs::read(fixture(key)).unwrap(), None).unwrap(),
            client: master.client(),
            grant: None,
            session: None,
            publish: None,
        }
    }

    /// A minion that is accepted and signed in.
    pub(crate) async fn signed_in(master: &Master, id: &str) -> Self {
        Self::signed_in_with(master, id, "minion.pem").await
    }

    /// A minion with another key that is accepted and signed in.
    pub(crate) async fn signed_in_with(master: &Master, id: &str, key: &str) -> Self {
        let mut minion = Self::with_key(master, id, key);
        let dir = master.path("pki/minions");
        fs::write(dir.join(id), minion.public_pem()).unwrap();
        minion.sign_in().await;
        assert!(minion.session.is_some(), "not signed in");
        minion
    }

    pub(crate) fn public_pem(&self) -> String {
        self.key.public().unwrap().clean_pem().unwrap()
    }

    pub(crate) fn auth_request(&self) -> AuthRequest {
        AuthRequest {
            id: self.id.clone(),
            nonce: Some(Nonce::from_random(random_bytes())),
            enc_algo: EncAlgo::OaepSha1.name().to_owned(),
            sig_algo: SigAlgo::Pkcs1v15Sha1.name().to_owned(),
            autosign_grains: None,
            token: None,
            public_key: self.public_pem(),
            extra: Map::new(),
        }
    }

    /// Signs in with the default request.
    pub(crate) async fn sign_in(&mut self) -> AuthReply {
        let request = self.auth_request();
        self.sign_in_with(request).await
    }

    /// Signs in, checking everything a minion checks.
    pub(crate) async fn sign_in_with(&mut self, request: AuthRequest) -> AuthReply {
        let AuthAnswer::Signed(signed) = self.send_auth(&request, 3).await else {
            panic!("the answer is not signed");
        };
        let master = master_key();
        let sig_algo = SigAlgo::parse(&request.sig_algo).unwrap();
        assert!(master.verify(sig_algo, &signed.load, &signed.sig));
        let reply = AuthReply::decode(&signed.load).unwrap();
        match &reply {
            AuthReply::Refused(_, nonce) => assert_eq!(*nonce, request.nonce),
            AuthReply::Accepted(grant) => {
                assert_eq!(grant.nonce, request.nonce);
                self.take(&request, grant);
            }
        }
        reply
    }

    /// Signs in; `None` if the master decides nothing.
    pub(crate) async fn try_sign_in(&self) -> Option<AuthReply> {
        match self.send_auth(&self.auth_request(), 3).await {
            AuthAnswer::Signed(signed) => Some(AuthReply::decode(&signed.load).unwrap()),
            _ => None,
        }
    }

    pub(crate) async fn send_auth(&self, request: &AuthRequest, version: u32) -> AuthAnswer {
        let envelope = RequestEnvelope::Clear {
            load: request.to_map(),
            version,
        };
        let reply = self.send(envelope.encode().unwrap()).await;
        AuthAnswer::decode(&reply).unwrap()
    }

    fn take(&mut self, request: &AuthRequest, grant: &AuthGrant) {
        let enc_algo = EncAlgo::parse(&request.enc_algo).unwrap();
        let open = |sealed: &[u8]| {
            let plain = self.key.decrypt(enc_algo, sealed).unwrap();
            String::from_utf8(plain.expose().clone()).unwrap()
        };
        let aes = open(&grant.aes);
        assert!(master_key().verify_publish_key(&aes, &grant.sig));
        let crypticle = |text: &str| Crypticle::new(&SymmetricKey::parse(text).unwrap());
        self.session = Some(crypticle(&open(&grant.session)));
        self.publish = Some(crypticle(&aes));
        self.grant = Some(grant.clone());
    }

    pub(crate) async fn send(&self, bytes: Vec<u8>) -> Vec<u8> {
        self.client.request(bytes, SOON).await.unwrap()
    }

    pub(crate) fn meta(&self) -> RequestMeta {
        RequestMeta::new(
            self.id.clone(),
            Nonce::from_random(random_bytes()),
            now(),
            self.key.request_token().unwrap(),
        )
    }

    /// Seals a load as the channel does.
    pub(crate) fn envelope(&self, load: &Map) -> Vec<u8> {
        let packed = pack_wire(&load.clone().into()).unwrap();
        let sealed = self.session.as_ref().unwrap().seal(&packed, None);
        RequestEnvelope::aes(sealed, self.id.clone(), "OAEP-SHA1", "PKCS1v15-SHA1")
            .encode()
            .unwrap()
    }

    /// Sends a command and opens the answer.
    pub(crate) async fn ask(&self, command: MinionRequest) -> Value {
        let meta = self.meta();
        let nonce = meta.nonce.clone().unwrap();
        let load = Request::new(meta, command).to_map();
        let reply = self.send(self.envelope(&load)).await;
        match Reply::decode(&reply).unwrap() {
            Reply::Sealed(sealed) => self.open(&sealed, &nonce),
            other => panic!("not sealed: {other:?}"),
        }
    }

    pub(crate) fn open(&self, sealed: &[u8], nonce: &Nonce) -> Value {
        let session = self.session.as_ref().unwrap();
        match session
            .open(sealed, Some(nonce.as_str().as_bytes()))
            .unwrap()
        {
            Opened::Payload(packed) => unpack_wire(&packed).unwrap(),
            Opened::Empty => panic!("an empty answer"),
        }
    }

    /// A sign of life of its last sign-in.
    pub(crate) fn sign_of_life(&self, count: u64) -> Vec<u8> {
        self.sign(count, false)
    }

    /// The same that is to be answered, or not.
    pub(crate) fn sign(&self, count: u64, wants_answer: bool) -> Vec<u8> {
        let grant = self.grant.as_ref().unwrap();
        let sign = SignOfLife {
            id: self.id.clone(),
            sign_in: Capabilities::sign_in_of(&grant.extra).unwrap(),
            count,
            wants_answer,
        };
        let key = self.session.as_ref().unwrap().presence_key();
        sign.encode(&key.prove(&sign.proven_part()))
    }

    /// Sends a load that is to be refused.
    pub(crate) async fn refused(&self, load: &Map) -> Refusal {
        let reply = self.send(self.envelope(load)).await;
        match Reply::decode(&reply).unwrap() {
            Reply::Refused(refusal) => refusal,
            other => panic!("not refused: {other:?}"),
        }
    }

    /// A good load to be spoiled.
    pub(crate) fn load(&self, command: MinionRequest) -> Map {
        Request::new(self.meta(), command).to_map()
    }
}

pub(crate) fn master_key() -> PublicKey {
    let pem = fs::read(fixture("master.pem")).unwrap();
    PrivateKey::from_pem(&pem, None).unwrap().public().unwrap()
}

pub(crate) fn now() -> i64 {
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    i64::try_from(since.as_secs()).unwrap()
}

/// The events up to the one with this tag.
pub(crate) async fn wait_event(events: &mut EventSubscriber, tag: &str) -> Map {
    tokio::time::timeout(SOON, async {
        loop {
            let event = events.next().await.unwrap().unwrap();
            if event.tag() == tag {
                return event.unpack().unwrap().data;
            }
        }
    })
    .await
    .unwrap_or_else(|_| panic!("no event {tag}"))
}
