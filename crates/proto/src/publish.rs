//! Publications: how a command reaches minions, and how a client asks for it.
//!
//! Described in `docs/protocol.md`, "Publications" and "Clear commands". Mirrors
//! `salt.master.ClearFuncs.publish` of 3006 to 3008.
//!
//! Invariant: a [`Publication`] holds nothing that could be run. Its load is
//! sealed, and only opened bytes become a [`PublishLoad`].

use crate::fields::{Fields, MessageError, Put, unreadable};
use crate::limits::Limits;
use crate::msgpack::{Packing, Reading, Writer, pack_map, unpack, unpack_with};
use crate::{Jid, Map, PackError, Value};

const PUBLICATION: &str = "the publication";
const LOAD: &str = "the published load";

/// A sealed publication as it travels on the publish port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Publication {
    /// The load under the publish key.
    pub load: Vec<u8>,
    /// How `sig` was made.
    pub sig_algo: Option<String>,
    /// The master's signature over `load`.
    pub sig: Option<Vec<u8>>,
}

impl Publication {
    /// Reads the payload frame of a publication.
    ///
    /// # Errors
    /// When it is none, or not sealed with the publish key.
    pub fn decode(packed: &[u8]) -> Result<Self, MessageError> {
        let value = unpack_with(packed, Reading::Wire, &Limits::ENVELOPE)
            .map_err(|source| unreadable(PUBLICATION, source))?;
        Self::from_map(Fields::from_value(PUBLICATION, value)?.rest())
    }

    /// Reads the body of a tcp frame or a ws message: the packed payload as
    /// bytes, or, from masters of 3006, the payload itself.
    ///
    /// # Errors
    /// When it is no publication.
    pub fn from_body(body: Value) -> Result<Self, MessageError> {
        match body {
            Value::Bytes(packed) => Self::decode(&packed),
            Value::Str(packed) => Self::decode(packed.as_bytes()),
            other => Self::from_map(Fields::from_value(PUBLICATION, other)?.rest()),
        }
    }

    /// The publication in an unpacked map.
    ///
    /// # Errors
    /// When it is none, or not sealed with the publish key.
    pub fn from_map(map: Map) -> Result<Self, MessageError> {
        let mut fields = Fields::new(PUBLICATION, map);
        let enc = fields.need("enc", Fields::text)?;
        if enc != "aes" {
            return Err(fields.bad_value("enc", "is not `aes`"));
        }
        Ok(Self {
            load: fields.need("load", Fields::bytes)?,
            sig_algo: fields.text("sig_algo")?,
            sig: fields.bytes("sig")?,
        })
    }

    /// The packed payload.
    ///
    /// # Errors
    /// When a part is longer than the format can hold.
    pub fn encode(&self) -> Result<Vec<u8>, PackError> {
        const OVERHEAD_BYTES: usize = 64;
        let signature = self.sig.as_ref().map_or(0, Vec::len);
        let bytes = self.load.len() + signature + OVERHEAD_BYTES;
        let mut writer = Writer::with_capacity(Packing::Wire, bytes);
        let optional = usize::from(self.sig_algo.is_some()) + usize::from(self.sig.is_some());
        writer.begin_map(2 + optional)?;
        writer.str("enc")?;
        writer.str("aes")?;
        writer.str("load")?;
        writer.bytes(&self.load)?;
        if let Some(sig_algo) = &self.sig_algo {
            writer.str("sig_algo")?;
            writer.str(sig_algo)?;
        }
        if let Some(sig) = &self.sig {
            writer.str("sig")?;
            writer.bytes(sig)?;
        }
        Ok(writer.into_bytes())
    }

    /// The publication as a map, which masters of 3006 send over tcp.
    pub fn to_map(&self) -> Map {
        let mut map = Map::with_capacity(4);
        map.put("enc", "aes");
        map.put_bytes("load", self.load.clone());
        map.put_some("sig_algo", self.sig_algo.as_deref());
        map.put_some("sig", self.sig.clone().map(Value::Bytes));
        map
    }
}

/// What is to be run: one function, or several in one job.
///
/// The names are plain text: a minion answers a name that cannot exist like one
/// that does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FunSpec {
    /// One function.
    One(String),
    /// Several, each with its own arguments.
    Many(Vec<String>),
}

impl FunSpec {
    /// The functions in order.
    pub fn names(&self) -> &[String] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Many(names) => names,
        }
    }

    /// The function, where it is only one.
    pub fn one(&self) -> Option<&str> {
        match self {
            Self::One(name) => Some(name),
            Self::Many(_) => None,
        }
    }

    /// The names for people, separated by commas.
    pub fn to_text(&self) -> String {
        self.names().join(",")
    }

    /// As it travels: text or a list of text.
    pub fn to_value(&self) -> Value {
        match self {
            Self::One(name) => name.as_str().into(),
            Self::Many(names) => names
                .iter()
                .map(|name| Value::from(name.as_str()))
                .collect::<Vec<_>>()
                .into(),
        }
    }

    pub(crate) fn take(
        fields: &mut Fields,
        field: &'static str,
    ) -> Result<Option<Self>, MessageError> {
        match fields.value(field) {
            None => Ok(None),
            Some(Value::Str(name)) => Ok(Some(Self::One(name))),
            Some(Value::List(items)) => {
                let names = items.into_iter().map(|item| match item {
                    Value::Str(name) => Ok(name),
                    other => Err(fields.wrong_type(field, "list of str", &other)),
                });
                Ok(Some(Self::Many(names.collect::<Result<_, _>>()?)))
            }
            Some(other) => Err(fields.wrong_type(field, "str", &other)),
        }
    }
}

impl From<&str> for FunSpec {
    fn from(name: &str) -> Self {
        Self::One(name.to_owned())
    }
}

/// A command as minions get it, opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishLoad {
    /// What to run.
    pub fun: FunSpec,
    /// Its arguments; for several functions a list for each. Keyword arguments
    /// are a map with `__kwarg__` among them.
    pub arg: Vec<Value>,
    /// Who is meant: text, or a list of text.
    pub tgt: Value,
    /// The job.
    pub jid: Jid,
    /// Returners, separated by commas; mostly empty.
    pub ret: String,
    /// The master that the command came from first.
    pub master_id: Option<String>,
    /// What separates the parts of a grain or pillar target, where it is not `:`.
    pub delimiter: Option<String>,
    /// The minion that published, where it was one.
    pub id: Option<String>,
    /// How `tgt` is meant; `glob` where it does not say.
    pub tgt_type: String,
    /// How long to wait, for syndics.
    pub to: Option<Value>,
    /// The caller's configuration for returners.
    pub ret_config: Option<Value>,
    /// The caller's data, given back with the return.
    pub metadata: Option<Value>,
    /// The executors to run with.
    pub module_executors: Option<Value>,
    /// Options of the executors.
    pub executor_opts: Option<Value>,
    /// The caller's arguments for returners.
    pub ret_kwargs: Option<Value>,
    /// Whether an event is to be sent when the job starts (3008).
    pub start_event: Option<Value>,
    /// Who asked.
    pub user: Option<String>,
    /// The caller's rights, for syndics.
    pub auth_list: Option<Value>,
    /// Fields that are none of these.
    pub extra: Map,
    /// The number of the publication under its key.
    pub serial: Option<u64>,
}

/// How a target is meant that does not say.
pub const TGT_TYPE_DEFAULT: &str = "glob";

impl PublishLoad {
    /// A command without any option.
    pub fn new(fun: FunSpec, arg: Vec<Value>, tgt: Value, tgt_type: &str, jid: Jid) -> Self {
        Self {
            fun,
            arg,
            tgt,
            jid,
            ret: String::new(),
            master_id: None,
            delimiter: None,
            id: None,
            tgt_type: tgt_type.to_owned(),
            to: None,
            ret_config: None,
            metadata: None,
            module_executors: None,
            executor_opts: None,
            ret_kwargs: None,
            start_event: None,
            user: None,
            auth_list: None,
            extra: Map::new(),
            serial: None,
        }
    }

    /// Reads an opened load.
    ///
    /// # Errors
    /// When it is no command; without `tgt`, `jid`, `fun` or `arg` it is none.
    pub fn decode(packed: &[u8]) -> Result<Self, MessageError> {
        let value = unpack(packed, Reading::Wire).map_err(|source| unreadable(LOAD, source))?;
        Self::from_map(Fields::from_value(LOAD, value)?.rest())
    }

    /// The command in an unpacked map.
    ///
    /// # Errors
    /// When it is no command; without `tgt`, `jid`, `fun` or `arg` it is none.
    pub fn from_map(map: Map) -> Result<Self, MessageError> {
        let mut fields = Fields::new(LOAD, map);
        Ok(Self {
            fun: fields.need("fun", FunSpec::take)?,
            arg: fields.need("arg", Fields::list)?,
            tgt: take_tgt(&mut fields)?,
            jid: fields.need("jid", Fields::name)?,
            ret: fields.text("ret")?.unwrap_or_default(),
            master_id: fields.text("master_id")?,
            delimiter: fields.text("delimiter")?,
            id: fields.text("id")?,
            tgt_type: fields
                .text("tgt_type")?
                .unwrap_or_else(|| TGT_TYPE_DEFAULT.to_owned()),
            to: fields.value("to"),
            ret_config: fields.value("ret_config"),
            metadata: fields.value("metadata"),
            module_executors: fields.value("module_executors"),
            executor_opts: fields.value("executor_opts"),
            ret_kwargs: fields.value("ret_kwargs"),
            start_event: fields.value("start_event"),
            user: fields.text("user")?,
            auth_list: fields.value("auth_list"),
            serial: fields.uint("serial")?,
            extra: fields.rest(),
        })
    }

    /// The map that is sealed, in Salt's order.
    pub fn to_map(&self) -> Map {
        let mut map = Map::with_capacity(12 + self.extra.len());
        map.put("fun", self.fun.to_value());
        map.put("arg", self.arg.clone());
        map.put("tgt", self.tgt.clone());
        map.put("jid", &self.jid);
        map.put("ret", self.ret.as_str());
        map.put_some("master_id", self.master_id.as_deref());
        map.put_some("delimiter", self.delimiter.as_deref());
        map.put_some("id", self.id.as_deref());
        map.put("tgt_type", self.tgt_type.as_str());
        map.put_some("to", self.to.clone());
        map.put_some("ret_config", self.ret_config.clone());
        map.put_some("metadata", self.metadata.clone());
        map.put_some("module_executors", self.module_executors.clone());
        map.put_some("executor_opts", self.executor_opts.clone());
        map.put_some("ret_kwargs", self.ret_kwargs.clone());
        map.put_some("start_event", self.start_event.clone());
        map.put_some("user", self.user.as_deref());
        map.put_some("auth_list", self.auth_list.clone());
        map.extend(self.extra.clone());
        map.put_some("serial", self.serial);
        map
    }

    /// The bytes to seal.
    ///
    /// # Errors
    /// When a value is nested too deeply or holds something too long.
    pub fn encode(&self) -> Result<Vec<u8>, PackError> {
        pack_map(&self.to_map(), Packing::Wire)
    }
}

/// A target is text or a list; only these can be matched.
pub(crate) fn take_tgt(fields: &mut Fields) -> Result<Value, MessageError> {
    match fields.value("tgt") {
        None => Err(fields.missing("tgt")),
        Some(tgt @ (Value::Str(_) | Value::List(_))) => Ok(tgt),
        // A map is a `data` target; a number is a word without quotes.
        Some(tgt @ (Value::Map(_) | Value::Int(_) | Value::Float(_))) => Ok(tgt),
        Some(other) => Err(fields.wrong_type("tgt", "str", &other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load() -> PublishLoad {
        let jid = Jid::parse("20240229123456789012").unwrap();
        PublishLoad::new("test.ping".into(), Vec::new(), "*".into(), "glob", jid)
    }

    #[test]
    fn a_load_keeps_what_it_does_not_know() {
        let mut sent = load();
        sent.extra.insert("traceparent", "00-ab");
        sent.serial = Some(7);
        let packed = sent.encode().unwrap();
        assert_eq!(PublishLoad::decode(&packed), Ok(sent));
    }

    #[test]
    fn a_load_without_its_four_fields_is_none() {
        for field in ["tgt", "jid", "fun", "arg"] {
            let mut map = load().to_map();
            map.remove(field);
            let error = PublishLoad::from_map(map).unwrap_err();
            assert_eq!(
                error,
                MessageError::Missing {
                    message: LOAD,
                    field
                }
            );
        }
    }

    #[test]
    fn a_job_id_that_leaves_its_directory_is_refused() {
        let mut map = load().to_map();
        map.insert("jid", "20240229123456789012/../x");
        assert!(matches!(
            PublishLoad::from_map(map),
            Err(MessageError::BadName { field: "jid", .. })
        ));
    }

    #[test]
    fn only_sealed_publications_are_taken() {
        let map = Map::from([("enc", "clear"), ("load", "x")]);
        assert!(Publication::from_map(map).is_err());
    }
}
