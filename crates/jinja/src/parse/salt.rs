//! The tags that Salt adds. They only name a decoder; the host decodes.

use super::Parser;
use crate::ast::StmtKind;
use crate::error::Result;

fn decoder(tag: &str) -> &'static str {
    if tag.ends_with("yaml") {
        "load_yaml"
    } else if tag.ends_with("json") {
        "load_json"
    } else {
        "load_text"
    }
}

impl Parser {
    pub(super) fn load_tag(&mut self, tag: &str) -> Result<StmtKind> {
        self.expect_name("as")?;
        let target = self.target(&[], false)?;
        let loops = std::mem::take(&mut self.loops);
        let body = self.block_body(&["endload"]);
        self.loops = loops;
        Ok(StmtKind::Load(decoder(tag), target, body?))
    }

    pub(super) fn import_data_tag(&mut self, tag: &str) -> Result<StmtKind> {
        let import = self.import_rest()?;
        Ok(StmtKind::ImportData(decoder(tag), Box::new(import)))
    }

    pub(super) fn profile_tag(&mut self) -> Result<StmtKind> {
        self.expect_name("as")?;
        let label = self.expression()?;
        let body = self.block_body(&["endprofile"])?;
        Ok(StmtKind::Profile(label, body))
    }
}
