//! The closed set of commands that a minion may send.

use crate::fields::{Fields, MessageError, Put};
use crate::request::whereabouts;
use crate::request::{
    CommitsOf, FileList, FilePath, FileRecv, HeldFiles, MasterOpts, MasterTops, MineDelete,
    MineGet, MineStore, MinionEvent, MinionRunner, PeerPublish, PillarRequest, PubRet,
    RegisterResources, Replay, ReturnPiece, RevokeAuth, ServeFile, SyndicReturn, Whereabouts,
};
use crate::returns::JobReturn;
use crate::{Map, MinionId, Value};

const REQUEST: &str = "the request";

/// Every command that a minion may send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MinionRequest {
    /// `_return`: the result of a job.
    Return(Box<JobReturn>),
    /// `_minion_event`: events to fire on the master.
    MinionEvent(MinionEvent),
    /// `_pillar`: grains up, pillar down.
    Pillar(Box<PillarRequest>),
    /// `_mine`: values for the mine.
    Mine(MineStore),
    /// `_mine_get`: values from the mine.
    MineGet(MineGet),
    /// `_mine_delete`: one function's value out of the mine.
    MineDelete(MineDelete),
    /// `_mine_flush`: all of this minion's values out of the mine.
    MineFlush,
    /// `_file_hash`: a file's hash.
    FileHash(FilePath),
    /// `_file_hash_and_stat`: a file's hash and what stat says of it.
    FileHashAndStat(FilePath),
    /// `_file_find`: where a file is.
    FileFind(FilePath),
    /// `_file_list`: all files of an environment.
    FileList(FileList),
    /// `_file_list_emptydirs`: its empty directories.
    FileListEmptydirs(FileList),
    /// `_dir_list`: its directories.
    DirList(FileList),
    /// `_symlink_list`: its symbolic links.
    SymlinkList(FileList),
    /// `_file_envs`: the environments.
    FileEnvs,
    /// `_serve_file`: a piece of a file.
    ServeFile(ServeFile),
    /// `_file_recv`: a piece of a file from the minion.
    FileRecv(FileRecv),
    /// `_master_opts`: options that minions take from the master.
    MasterOpts(MasterOpts),
    /// `_master_tops`: what the master's tops assign to the minion.
    MasterTops(MasterTops),
    /// `_register_resources` (3008).
    RegisterResources(RegisterResources),
    /// `_syndic_return`: results of the minions below a syndic.
    SyndicReturn(SyndicReturn),
    /// `minion_pub`: publish a command, get the job.
    MinionPub(PeerPublish),
    /// `minion_publish`: publish a command, get the results.
    MinionPublish(PeerPublish),
    /// `pub_ret`: the results of a job that this minion published.
    PubRet(PubRet),
    /// `minion_runner`: run a runner.
    MinionRunner(MinionRunner),
    /// `revoke_auth`: delete this minion's key.
    RevokeAuth(RevokeAuth),
    /// `_halite_replay`: the jobs of the last while that this minion has not
    /// returned. Only between Halite peers.
    Replay(Replay),
    /// `_halite_return_piece`: a piece of a large `_return`. Only between Halite
    /// peers.
    ReturnPiece(ReturnPiece),
    /// `_halite_whereabouts`: the results of this master's jobs that another
    /// master has. Only between Halite peers.
    Whereabouts(Vec<Whereabouts>),
    /// `_halite_held`: whether files that this minion holds are still those of
    /// the master; what is no file is never. Only between Halite peers.
    HeldFiles(HeldFiles),
    /// `_halite_commits`: the commits that the files of an environment come from
    /// now. Only between Halite peers.
    Commits(CommitsOf),
    /// `verify_minion`, which never succeeds in Salt.
    VerifyMinion(Map),
    /// Anything else, also nothing.
    Unknown {
        /// The command, if it is text.
        cmd: Option<String>,
        /// The other fields.
        fields: Map,
    },
}

/// The command of [`MinionRequest::Replay`].
const REPLAY: &str = "_halite_replay";

/// The command of [`MinionRequest::ReturnPiece`].
const RETURN_PIECE: &str = "_halite_return_piece";

/// The command of [`MinionRequest::Whereabouts`].
const WHEREABOUTS: &str = "_halite_whereabouts";

/// The command of [`MinionRequest::HeldFiles`].
const HELD_FILES: &str = "_halite_held";

/// The command of [`MinionRequest::Commits`].
const COMMITS_OF: &str = "_halite_commits";

impl MinionRequest {
    /// The command in a load whose common fields are gone.
    ///
    /// # Errors
    /// When a field is missing, of a wrong type or not a valid name.
    pub fn from_map(map: Map) -> Result<Self, MessageError> {
        Self::split(map).map(|(command, _)| command)
    }

    /// The command's own fields and `cmd`, with the minion's id where Salt's
    /// minions put it before the channel does.
    pub fn to_map(&self, id: &MinionId) -> Map {
        const ROOM: usize = 16;
        let mut map = Map::with_capacity(ROOM);
        match self {
            Self::Return(job) => {
                map.put("cmd", "_return");
                map.put("id", id);
                job.append_to(&mut map);
            }
            Self::MinionEvent(event) => event.put(id, &mut map),
            Self::Pillar(request) => request.put(id, &mut map),
            Self::Mine(store) => store.put(id, &mut map),
            Self::MineGet(get) => get.put(id, &mut map),
            Self::MineDelete(delete) => delete.put(id, &mut map),
            Self::MineFlush => {
                map.put("cmd", "_mine_flush");
                map.put("id", id);
            }
            Self::FileHash(path) => path.put("_file_hash", &mut map),
            Self::FileHashAndStat(path) => path.put("_file_hash_and_stat", &mut map),
            Self::FileFind(path) => path.put("_file_find", &mut map),
            Self::FileList(list) => list.put("_file_list", &mut map),
            Self::FileListEmptydirs(list) => list.put("_file_list_emptydirs", &mut map),
            Self::DirList(list) => list.put("_dir_list", &mut map),
            Self::SymlinkList(list) => list.put("_symlink_list", &mut map),
            Self::FileEnvs => map.put("cmd", "_file_envs"),
            Self::ServeFile(serve) => serve.put(&mut map),
            Self::FileRecv(receive) => receive.put(id, &mut map),
            Self::MasterOpts(opts) => opts.put(&mut map),
            Self::MasterTops(tops) => tops.put(id, &mut map),
            Self::RegisterResources(resources) => resources.put(id, &mut map),
            Self::SyndicReturn(returned) => returned.put(&mut map),
            Self::MinionPub(publish) => publish.put("minion_pub", id, &mut map),
            Self::MinionPublish(publish) => publish.put("minion_publish", id, &mut map),
            Self::PubRet(ret) => ret.put(id, &mut map),
            Self::MinionRunner(runner) => runner.put(id, &mut map),
            Self::RevokeAuth(revoke) => revoke.put(id, &mut map),
            Self::Replay(replay) => replay.put(REPLAY, id, &mut map),
            Self::ReturnPiece(piece) => piece.put(RETURN_PIECE, id, &mut map),
            Self::Whereabouts(results) => {
                map.put("cmd", WHEREABOUTS);
                map.put("id", id);
                map.put("results", whereabouts::to_value(results));
            }
            Self::HeldFiles(files) => {
                map.put("cmd", HELD_FILES);
                map.put("id", id);
                files.put(&mut map);
            }
            Self::Commits(of) => of.put(COMMITS_OF, &mut map),
            Self::VerifyMinion(fields) => {
                map.put("cmd", "verify_minion");
                map.extend(fields.clone());
            }
            Self::Unknown { cmd, fields } => {
                map.put_some("cmd", cmd.as_deref());
                map.put("id", id);
                map.extend(fields.clone());
            }
        }
        map
    }

    /// The name of the command, as it travels.
    pub fn cmd(&self) -> &str {
        match self {
            Self::Return(_) => "_return",
            Self::MinionEvent(_) => "_minion_event",
            Self::Pillar(_) => "_pillar",
            Self::Mine(_) => "_mine",
            Self::MineGet(_) => "_mine_get",
            Self::MineDelete(_) => "_mine_delete",
            Self::MineFlush => "_mine_flush",
            Self::FileHash(_) => "_file_hash",
            Self::FileHashAndStat(_) => "_file_hash_and_stat",
            Self::FileFind(_) => "_file_find",
            Self::FileList(_) => "_file_list",
            Self::FileListEmptydirs(_) => "_file_list_emptydirs",
            Self::DirList(_) => "_dir_list",
            Self::SymlinkList(_) => "_symlink_list",
            Self::FileEnvs => "_file_envs",
            Self::ServeFile(_) => "_serve_file",
            Self::FileRecv(_) => "_file_recv",
            Self::MasterOpts(_) => "_master_opts",
            Self::MasterTops(_) => "_master_tops",
            Self::RegisterResources(_) => "_register_resources",
            Self::SyndicReturn(_) => "_syndic_return",
            Self::MinionPub(_) => "minion_pub",
            Self::MinionPublish(_) => "minion_publish",
            Self::PubRet(_) => "pub_ret",
            Self::MinionRunner(_) => "minion_runner",
            Self::RevokeAuth(_) => "revoke_auth",
            Self::Replay(_) => REPLAY,
            Self::ReturnPiece(_) => RETURN_PIECE,
            Self::Whereabouts(_) => WHEREABOUTS,
            Self::HeldFiles(_) => HELD_FILES,
            Self::Commits(_) => COMMITS_OF,
            Self::VerifyMinion(_) => "verify_minion",
            Self::Unknown { cmd, .. } => cmd.as_deref().unwrap_or_default(),
        }
    }

    /// The command, and the fields that it has no use for.
    pub(super) fn split(mut map: Map) -> Result<(Self, Map), MessageError> {
        let Some(Value::Str(cmd)) = map.remove("cmd") else {
            let unknown = Self::Unknown {
                cmd: None,
                fields: map,
            };
            return Ok((unknown, Map::new()));
        };
        match cmd.as_str() {
            // These keep their other fields themselves.
            "_return" => {
                let job = JobReturn::from_map(map)?;
                Ok((Self::Return(Box::new(job)), Map::new()))
            }
            "verify_minion" => Ok((Self::VerifyMinion(map), Map::new())),
            _ => {
                let mut fields = Fields::new(REQUEST, map);
                match Self::take(&cmd, &mut fields)? {
                    Some(command) => Ok((command, fields.rest())),
                    None => {
                        let unknown = Self::Unknown {
                            cmd: Some(cmd),
                            fields: fields.rest(),
                        };
                        Ok((unknown, Map::new()))
                    }
                }
            }
        }
    }

    /// The command of that name; `None` where there is none.
    fn take(cmd: &str, fields: &mut Fields) -> Result<Option<Self>, MessageError> {
        Ok(Some(match cmd {
            "_minion_event" => Self::MinionEvent(MinionEvent::take(fields)?),
            "_pillar" => Self::Pillar(Box::new(PillarRequest::take(fields)?)),
            "_mine" => Self::Mine(MineStore::take(fields)?),
            "_mine_get" => Self::MineGet(MineGet::take(fields)?),
            "_mine_delete" => Self::MineDelete(MineDelete::take(fields)?),
            "_mine_flush" => Self::MineFlush,
            "_file_hash" => Self::FileHash(FilePath::take(fields)?),
            "_file_hash_and_stat" => Self::FileHashAndStat(FilePath::take(fields)?),
            "_file_find" => Self::FileFind(FilePath::take(fields)?),
            "_file_list" => Self::FileList(FileList::take(fields)?),
            "_file_list_emptydirs" => Self::FileListEmptydirs(FileList::take(fields)?),
            "_dir_list" => Self::DirList(FileList::take(fields)?),
            "_symlink_list" => Self::SymlinkList(FileList::take(fields)?),
            "_file_envs" => Self::FileEnvs,
            "_serve_file" => Self::ServeFile(ServeFile::take(fields)?),
            "_file_recv" => Self::FileRecv(FileRecv::take(fields)?),
            "_master_opts" => Self::MasterOpts(MasterOpts::take(fields)),
            "_master_tops" => Self::MasterTops(MasterTops::take(fields)?),
            "_register_resources" => Self::RegisterResources(RegisterResources::take(fields)?),
            "_syndic_return" => Self::SyndicReturn(SyndicReturn::take(fields)?),
            "minion_pub" => Self::MinionPub(PeerPublish::take(fields)?),
            "minion_publish" => Self::MinionPublish(PeerPublish::take(fields)?),
            "pub_ret" => Self::PubRet(PubRet::take(fields)?),
            "minion_runner" => Self::MinionRunner(MinionRunner::take(fields)?),
            "revoke_auth" => Self::RevokeAuth(RevokeAuth::take(fields)),
            REPLAY => Self::Replay(Replay::take(fields)?),
            RETURN_PIECE => Self::ReturnPiece(ReturnPiece::take(fields)?),
            WHEREABOUTS => Self::Whereabouts(whereabouts::take(fields)?),
            HELD_FILES => Self::HeldFiles(HeldFiles::take(fields)?),
            COMMITS_OF => Self::Commits(CommitsOf::take(fields)?),
            _ => return Ok(None),
        }))
    }
}
