//! The requests that a master answers, and the outcome when each kind of caller
//! sends each of them. This is the rule; `requests` tests all cells.
//!
//! A command of `halite-proto` without a row does not compile: the rows are arms of
//! the matches over its commands.

use halite_proto::clear::ClearCommand;
use halite_proto::request::MinionRequest;

/// Who asks. Each uses the best proof that it has, in the envelope that it can
/// make: minions seal, everybody else asks in the clear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    /// Has no key that this master knows, and takes the name of a minion.
    Stranger,
    /// A minion whose key waits for a decision.
    Pending,
    /// An accepted minion without further rights.
    Accepted,
    /// An accepted minion that `peer` and `peer_run` name.
    Granted,
    /// A user of the host with `publisher_acl`.
    Limited,
    /// A user of the host without a key.
    Local,
    /// The master's own user.
    Root,
}

impl Caller {
    /// All of them, in the order of the cells.
    pub(crate) const ALL: [Self; 7] = [
        Self::Stranger,
        Self::Pending,
        Self::Accepted,
        Self::Granted,
        Self::Limited,
        Self::Local,
        Self::Root,
    ];

    /// Whether nothing of what it sends can be proven.
    pub(crate) const fn is_unproven(self) -> bool {
        matches!(self, Self::Stranger | Self::Pending | Self::Local)
    }

    /// Whether it seals its requests.
    pub(crate) const fn is_minion(self) -> bool {
        !matches!(self, Self::Limited | Self::Local | Self::Root)
    }
}

/// What comes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It is not looked at.
    Refused,
    /// An empty answer: this is not known, or not permitted, here.
    Nothing,
    /// Nobody proved who they are.
    Unproven,
    /// Who asks is proven, and may not.
    Forbidden,
    /// The key waits for a decision.
    Waits,
    /// The keys of a session.
    Session,
    /// An answer.
    Answered,
}

impl Outcome {
    /// Whether nothing is done for the caller: nobody hears of such a request, and it
    /// leaves nothing behind.
    pub(crate) const fn is_refusal(self) -> bool {
        matches!(
            self,
            Self::Refused | Self::Nothing | Self::Unproven | Self::Forbidden
        )
    }
}
use Outcome::{Answered, Forbidden, Nothing, Refused, Session, Unproven, Waits};

/// What an unproven caller may cause at most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// An operation with the master's private key. Without it the work is less
    /// than half of that.
    pub(crate) signs: bool,
    /// New files.
    pub(crate) files: usize,
    /// Bytes by which what is kept grows, the log among it.
    pub(crate) disk_bytes: u64,
    /// Bytes of the answer.
    pub(crate) answer_bytes: usize,
    /// Nanoseconds of work for each byte of a request, whatever patterns, targets and
    /// functions they spell: it is decoded, and that is all. A match costs more.
    pub(crate) byte_ns: i64,
}

/// A refusal without looking.
pub(crate) const LITTLE: Cost = Cost {
    signs: false,
    files: 0,
    disk_bytes: 1024,
    answer_bytes: 1024,
    byte_ns: 250,
};

/// A signed answer with the master's public key.
const SIGNED: Cost = Cost {
    signs: true,
    answer_bytes: 4096,
    ..LITTLE
};

/// The same, and the key is kept for a decision.
const KEPT: Cost = Cost {
    files: 1,
    disk_bytes: 4096,
    ..SIGNED
};

/// A token for who has the password.
const TOKEN: Cost = Cost {
    files: 1,
    disk_bytes: 4096,
    ..LITTLE
};

/// In a row: the job that [`Caller::Granted`] has published, to which it has returned.
pub(crate) const ITS_JOB: &str = "20260101000000000001";

/// In a row: a token of [`LOGIN`], made for each request.
pub(crate) const A_TOKEN: &str = "a token that holds";

/// The user with a password, and the password.
pub(crate) const LOGIN: (&str, &str) = ("bob", "sesame");

/// A request, and what comes of it.
#[derive(Debug)]
pub(crate) struct Row {
    /// The command.
    pub(crate) cmd: &'static str,
    /// Its other fields, in JSON.
    pub(crate) fields: &'static str,
    /// What comes of it, by [`Caller::ALL`].
    pub(crate) cells: [Outcome; 7],
    /// What it may cost where nothing is proven.
    pub(crate) cost: Cost,
}

/// A request of minions: what an accepted one gets, and one with rights. In the
/// clear it is unknown.
const fn sealed(
    cmd: &'static str,
    fields: &'static str,
    accepted: Outcome,
    granted: Outcome,
) -> Row {
    Row {
        cmd,
        fields,
        cells: [
            Refused, Refused, accepted, granted, Nothing, Nothing, Nothing,
        ],
        cost: LITTLE,
    }
}

/// A request of local programs: what comes of it without a proof, from a user
/// with few rights, and from root. Sealed it is unknown.
const fn clear(
    cmd: &'static str,
    fields: &'static str,
    unproven: Outcome,
    limited: Outcome,
    root: Outcome,
) -> Row {
    Row {
        cmd,
        fields,
        cells: [
            unproven, unproven, Nothing, Nothing, limited, unproven, root,
        ],
        cost: LITTLE,
    }
}

/// Rows by the command that they are of: a list of all, and the rows of one.
macro_rules! rows {
    ($all:ident, $of:ident, $command:ty { $($pattern:pat => [$($row:expr),+ $(,)?])+ }) => {
        /// All rows, command by command.
        pub(crate) static $all: &[&[Row]] = &[$(&[$($row),+]),+];

        /// The rows of a command.
        pub(crate) fn $of(command: &$command) -> &'static [Row] {
            match command {
                $($pattern => { const ROWS: &[Row] = &[$($row),+]; ROWS })+
            }
        }
    };
}

/// A job for the minion that `peer` names, and for nobody else.
const PING_ALL: &str = r#"{"fun": "test.ping", "arg": [], "tgt": "*", "ret": ""}"#;
const FILE: &str = r#"{"path": "a", "saltenv": "base"}"#;
const BASE: &str = r#"{"saltenv": "base"}"#;

rows!(SEALED, sealed_rows, MinionRequest {
    MinionRequest::Return(_) => [
        sealed("_return", r#"{"fun": "test.ping", "fun_args": [], "jid": "20260101000000000007", "return": true, "retcode": 0, "success": true}"#, Answered, Answered),
        sealed("_return", r#"{"fun": "test.ping", "fun_args": [], "jid": "20260101000000000001", "return": true, "retcode": 0, "success": true}"#, Answered, Answered),
    ]
    MinionRequest::MinionEvent(_) => [sealed("_minion_event", r#"{"tag": "my/tag", "data": {}}"#, Answered, Answered)]
    MinionRequest::Pillar(_) => [sealed("_pillar", r#"{"grains": {"os": "x"}, "ver": "2"}"#, Answered, Answered)]
    MinionRequest::Mine(_) => [sealed("_mine", r#"{"data": {"test.ping": true}}"#, Answered, Answered)]
    MinionRequest::MineGet(_) => [sealed("_mine_get", r#"{"tgt": "web1", "fun": "test.ping"}"#, Answered, Answered)]
    MinionRequest::MineDelete(_) => [sealed("_mine_delete", r#"{"fun": "test.ping"}"#, Answered, Answered)]
    MinionRequest::MineFlush => [sealed("_mine_flush", "{}", Answered, Answered)]
    MinionRequest::FileHash(_) => [sealed("_file_hash", FILE, Answered, Answered)]
    MinionRequest::FileHashAndStat(_) => [sealed("_file_hash_and_stat", FILE, Answered, Answered)]
    MinionRequest::FileFind(_) => [sealed("_file_find", FILE, Answered, Answered)]
    MinionRequest::FileList(_) => [sealed("_file_list", BASE, Answered, Answered)]
    MinionRequest::FileListEmptydirs(_) => [sealed("_file_list_emptydirs", BASE, Answered, Answered)]
    MinionRequest::DirList(_) => [sealed("_dir_list", BASE, Answered, Answered)]
    MinionRequest::SymlinkList(_) => [sealed("_symlink_list", BASE, Answered, Answered)]
    MinionRequest::FileEnvs => [sealed("_file_envs", "{}", Answered, Answered)]
    MinionRequest::ServeFile(_) => [sealed("_serve_file", r#"{"path": "a", "saltenv": "base", "loc": 0}"#, Answered, Answered)]
    MinionRequest::FileRecv(_) => [sealed("_file_recv", r#"{"path": ["a"], "loc": 0, "data": "x"}"#, Answered, Answered)]
    MinionRequest::MasterOpts(_) => [sealed("_master_opts", "{}", Answered, Answered)]
    MinionRequest::MasterTops(_) => [sealed("_master_tops", r#"{"opts": {}}"#, Nothing, Nothing)]
    MinionRequest::RegisterResources(_) => [sealed("_register_resources", r#"{"resources": {}}"#, Answered, Answered)]
    MinionRequest::SyndicReturn(_) => [sealed("_syndic_return", r#"{"load": []}"#, Nothing, Nothing)]
    MinionRequest::MinionPub(_) => [
        sealed("minion_pub", PING_ALL, Nothing, Answered),
        sealed("minion_pub", r#"{"fun": "cmd.run", "arg": ["id"], "tgt": "*", "ret": ""}"#, Nothing, Nothing),
        sealed("minion_pub", r#"{"fun": "saltutil.find_job", "arg": ["x"], "tgt": "*", "ret": ""}"#, Nothing, Nothing),
    ]
    // Nobody returns in time: only the full form names the job then.
    MinionRequest::MinionPublish(_) => [sealed(
        "minion_publish",
        r#"{"fun": "test.ping", "arg": [], "tgt": "*", "ret": "", "tmo": 1, "form": "full"}"#,
        Nothing,
        Answered,
    )]
    MinionRequest::PubRet(_) => [
        sealed("pub_ret", r#"{"jid": "20260101000000000001"}"#, Nothing, Answered),
        sealed("pub_ret", r#"{"jid": "20260101000000000007"}"#, Nothing, Nothing),
    ]
    MinionRequest::MinionRunner(_) => [
        sealed("minion_runner", r#"{"fun": "test.arg", "arg": []}"#, Nothing, Answered),
        sealed("minion_runner", r#"{"fun": "salt.cmd", "arg": ["cmd.run", "id"]}"#, Nothing, Nothing),
    ]
    MinionRequest::RevokeAuth(_) => [sealed("revoke_auth", "{}", Answered, Answered)]
    MinionRequest::Replay(_) => [sealed("_halite_replay", "{}", Answered, Answered)]
    MinionRequest::ReturnPiece(_) => [sealed(
        "_halite_return_piece",
        r#"{"parcel": "0000000000000000000000000000000000000000000000000000000000000000", "bytes": 9, "at": 0, "data": "x"}"#,
        Answered,
        Answered,
    )]
    MinionRequest::Whereabouts(_) => [sealed("_halite_whereabouts", r#"{"results": []}"#, Answered, Answered)]
    MinionRequest::HeldFiles(_) => [sealed("_halite_held", r#"{"files": []}"#, Answered, Answered)]
    MinionRequest::Commits(_) => [sealed("_halite_commits", BASE, Answered, Answered)]
    MinionRequest::VerifyMinion(_) => [sealed("verify_minion", r#"{"id_": "x", "token": "x"}"#, Nothing, Nothing)]
    MinionRequest::Unknown { .. } => [
        sealed("_prep_auth_info", "{}", Nothing, Nothing),
        sealed("__init__", "{}", Nothing, Nothing),
        sealed("", "{}", Nothing, Nothing),
    ]
});

const PUBLISH_PING: &str =
    r#"{"fun": "test.ping", "arg": [], "tgt": "*", "tgt_type": "glob", "ret": "", "jid": ""}"#;
const PUBLISH_RUN: &str =
    r#"{"fun": "cmd.run", "arg": ["id"], "tgt": "*", "tgt_type": "glob", "ret": "", "jid": ""}"#;
const BATCH_PING: &str = r#"{"fun": "test.ping", "arg": [], "tgt": "web1", "tgt_type": "glob", "ret": "", "jid": "", "batch": "1"}"#;
const BATCH_RUN: &str = r#"{"fun": "cmd.run", "arg": ["id"], "tgt": "web1", "tgt_type": "glob", "ret": "", "jid": "", "batch": "1"}"#;

rows!(CLEAR, clear_rows, ClearCommand {
    // Who has no session signs in as a new minion; a stranger takes the name of
    // one that has a key.
    ClearCommand::Auth(_) => [Row {
        cmd: "_auth",
        fields: r#"{"id": "web1", "pub": "x"}"#,
        cells: [Refused, Waits, Session, Session, Waits, Waits, Waits],
        cost: KEPT,
    }]
    ClearCommand::AuthBadId(_) => [Row {
        cmd: "_auth",
        fields: r#"{"id": "../x", "pub": "x"}"#,
        cells: [Refused; 7],
        cost: SIGNED,
    }]
    ClearCommand::Ping(_) => [clear("ping", "{}", Answered, Answered, Answered)]
    ClearCommand::Publish(_) => [
        clear("publish", PUBLISH_PING, Unproven, Answered, Answered),
        clear("publish", PUBLISH_RUN, Unproven, Forbidden, Answered),
    ]
    ClearCommand::Batch(_) => [
        clear("halite.batch", BATCH_PING, Unproven, Answered, Answered),
        clear("halite.batch", BATCH_RUN, Unproven, Forbidden, Answered),
    ]
    ClearCommand::Runner(_) => [clear("runner", r#"{"fun": "test.arg", "kwarg": {}}"#, Unproven, Unproven, Answered)]
    ClearCommand::Wheel(_) => [clear("wheel", r#"{"fun": "key.list_all"}"#, Unproven, Unproven, Answered)]
    // A key is no login, and whoever has a password or a token needs no key.
    ClearCommand::MkToken(_) => [
        clear("mk_token", r#"{"eauth": "pam", "username": "root", "password": "x"}"#, Nothing, Nothing, Nothing),
        clear("mk_token", r#"{"eauth": "file", "username": "bob", "password": "x"}"#, Nothing, Nothing, Nothing),
        Row {
            cost: TOKEN,
            ..clear("mk_token", r#"{"eauth": "file", "username": "bob", "password": "sesame"}"#, Answered, Answered, Answered)
        },
    ]
    ClearCommand::GetToken { .. } => [
        clear("get_token", r#"{"token": "0123456789abcdef"}"#, Nothing, Nothing, Nothing),
        clear("get_token", r#"{"token": "a token that holds"}"#, Answered, Answered, Answered),
    ]
    ClearCommand::LogOut(_) => [
        clear("halite.log_out", r#"{"token": "0123456789abcdef"}"#, Nothing, Nothing, Nothing),
        clear("halite.log_out", r#"{"token": "a token that holds"}"#, Answered, Answered, Answered),
    ]
    ClearCommand::Standing(_) => [clear("halite.standing", r#"{"minions": ["web1"]}"#, Nothing, Answered, Answered)]
    // The fingerprint of the master's public key is for everybody.
    ClearCommand::Compare(_) => [clear(
        "halite.compare",
        r#"{"nonce": "0123456789abcdef0123456789abcdef", "ts": 1, "sig": "x"}"#,
        Answered,
        Answered,
        Answered,
    )]
    ClearCommand::Unknown { .. } => [
        clear("_prep_auth_info", "{}", Nothing, Nothing, Nothing),
        clear("__init__", "{}", Nothing, Nothing, Nothing),
        clear("", "{}", Nothing, Nothing, Nothing),
    ]
});
