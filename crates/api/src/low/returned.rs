//! The return of a chunk.
//!
//! A runner may return a list of a hundred thousand jobs. Where the list is only passed
//! on, it stays packed. Invariant: an answer is the same in either form.

use axum::response::Response;
use halite_client::RunnerEnd;
use halite_proto::json::write_packed;
use halite_proto::msgpack::{Head, Heads, Reading, unpack_prefix};
use halite_proto::{Map, UnpackError, Value, python};
use halite_transport::ipc::BusEvent;

use crate::encode::{Format, unwritable};
use crate::fault::Fault;

/// The return of a chunk.
#[derive(Clone, Debug)]
pub(crate) enum Returned {
    /// As values.
    Data(Value),
    /// Packed, as in an event.
    Packed(PackedReturn),
}

/// A value within the data of an event.
#[derive(Clone, Debug)]
pub(crate) struct PackedReturn {
    event: BusEvent,
    /// Where it begins.
    at: usize,
}

impl Returned {
    /// The return of a runner.
    ///
    /// # Errors
    /// With 500 if it cannot be read.
    pub(crate) fn of_runner(end: RunnerEnd) -> Result<Self, Fault> {
        let event = match end {
            RunnerEnd::Event(event) => event,
            RunnerEnd::Kept(mut data) => {
                let data = data.remove("return").unwrap_or_default();
                return Ok(Self::Data(data));
            }
        };
        let at = place_of("return", event.data()).map_err(|error| unreadable(&error))?;
        Ok(match at {
            Some(at) => Self::Packed(PackedReturn { event, at }),
            None => Self::Data(Value::Nil),
        })
    }

    /// The value.
    ///
    /// # Errors
    /// With 500 if it cannot be read.
    pub(crate) fn into_value(self) -> Result<Value, Fault> {
        match self {
            Self::Data(value) => Ok(value),
            Self::Packed(packed) => {
                let read = unpack_prefix(packed.bytes(), Reading::Modern);
                let read = read.map_err(|error| unreadable(&error))?;
                Ok(read.map(|(value, _)| value).unwrap_or_default())
            }
        }
    }
}

impl PackedReturn {
    /// Writes it as JSON.
    ///
    /// # Errors
    /// With 500 if JSON cannot hold it, or it cannot be read.
    pub(crate) fn write_json(&self, out: &mut String) -> Result<(), Fault> {
        let mut heads = Heads::new(self.bytes(), Reading::Modern);
        write_packed(&mut heads, python::str, out).map_err(|error| unreadable(&error))
    }

    /// The packed value, and what is behind it.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.event.data().get(self.at..).unwrap_or_default()
    }
}

/// All data of the last event of a runner.
///
/// # Errors
/// With 500 if it cannot be read.
pub(super) fn data(end: RunnerEnd) -> Result<Map, Fault> {
    match end {
        RunnerEnd::Kept(data) => Ok(data),
        RunnerEnd::Event(event) => match event.unpack() {
            Ok(event) => Ok(event.data),
            Err(error) => Err(unreadable(&error)),
        },
    }
}

/// The answer with the returns of chunks. A packed return is written as JSON without a
/// value in between: with very many jobs, most of the time would go into making and
/// freeing the values.
///
/// # Errors
/// With 500 for data that the form cannot hold, or not within its limit.
pub(crate) fn answer(format: Format, returns: Vec<Returned>) -> Result<Response, Fault> {
    if format == Format::Json
        && let Some(text) = packed_to_json(&returns)
    {
        return Ok(format.response(text?));
    }
    let returns = returns.into_iter().map(Returned::into_value);
    let returns = returns.collect::<Result<Vec<_>, _>>()?;
    format.answer_with(Map::from([("return", Value::List(returns))]).into())
}

/// The answer with these returns, if all of them came packed.
fn packed_to_json(returns: &[Returned]) -> Option<Result<String, Fault>> {
    let packed = returns.iter().map(|returned| match returned {
        Returned::Packed(packed) => Some(packed),
        Returned::Data(_) => None,
    });
    let packed = packed.collect::<Option<Vec<_>>>()?;
    let length: usize = packed.iter().map(|packed| packed.bytes().len()).sum();
    // JSON has quotes, and more between its items.
    let mut text = String::with_capacity(length + length / 4);
    text.push_str("{\"return\": [");
    for (index, packed) in packed.into_iter().enumerate() {
        if index > 0 {
            text.push_str(", ");
        }
        if let Err(fault) = packed.write_json(&mut text) {
            return Some(Err(fault));
        }
    }
    text.push_str("]}");
    Some(Ok(text))
}

/// Where the value of an entry of a packed map begins, if there is one.
fn place_of(name: &str, map: &[u8]) -> Result<Option<usize>, UnpackError> {
    let mut heads = Heads::new(map, Reading::Modern);
    let Head::Map(entries) = heads.head()? else {
        return Ok(None);
    };
    for _ in 0..entries {
        if heads.key()? == Head::Str(name) {
            return Ok(Some(heads.at()));
        }
        heads.value()?;
    }
    Ok(None)
}

fn unreadable(error: &dyn std::error::Error) -> Fault {
    let error = halite_proto::chain(error);
    tracing::error!("could not read the return of a runner: {error}");
    unwritable()
}
