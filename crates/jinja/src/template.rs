//! A template as it is kept between renders.

use std::sync::Arc;

use crate::ast::Ast;
use crate::settings::Settings;

/// A parsed template; threads may share it.
#[derive(Clone, Debug)]
pub struct Template {
    pub(crate) ast: Arc<Ast>,
    pub(crate) settings: Arc<Settings>,
    /// Whether a newline is added to what it renders.
    pub(crate) final_newline: bool,
}
