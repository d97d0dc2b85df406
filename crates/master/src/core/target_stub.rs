//! Stub.
#![allow(missing_docs)]
use halite_proto::{Map, Value};
use halite_target::{TargetError, pcre};
pub trait Subject {
    fn id(&self) -> &str;
    fn grains(&self) -> Option<&Map>;
    fn pillar(&self) -> Option<&Map>;
}
pub struct Target(String);
impl Target {
    pub fn parse(tgt: &Value, tgt_type: &str, _d: &str) -> Result<Self, TargetError> {
        match (tgt_type, tgt.as_str()) {
            ("pcre", Some(text)) => Ok(Self(text.to_owned())),
            _ => Err(TargetError::new(
                0,
                format!("target type {tgt_type:?} is not known"),
            )),
        }
    }
    pub fn matches(&self, s: &dyn Subject) -> bool {
        pcre::match_start(&self.0, s.id()).unwrap_or(false)
    }
}
