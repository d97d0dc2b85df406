//! The masters of a minion, as its options name them.

use super::MinionConfig;
use crate::address::MasterAddress;
use crate::error::ConfigError;
use crate::setting::{MasterType, UriFormat};

impl MinionConfig {
    /// The masters, in order, each once. None if a function names them
    /// (`master_type: func`), or there are to be none.
    ///
    /// # Errors
    /// When an entry is no address; cannot happen once the configuration is
    /// loaded.
    pub fn masters(&self) -> Result<Vec<MasterAddress>, ConfigError> {
        self.masters_and_repeats().map(|(masters, _)| masters)
    }

    /// The masters, and the places in the list of those that are there twice.
    pub(super) fn masters_and_repeats(
        &self,
    ) -> Result<(Vec<MasterAddress>, Vec<usize>), ConfigError> {
        let mut addresses: Vec<MasterAddress> = Vec::new();
        let mut repeats = Vec::new();
        if matches!(self.master_type, MasterType::Func | MasterType::Disable) {
            return Ok((addresses, repeats));
        }
        for (at, entry) in self.master.entries.iter().enumerate() {
            let address = self.address(entry).map_err(|why| {
                let allowed = match self.master_uri_format {
                    UriFormat::Default => format!("host, host:port or [v6]:port ({why})"),
                    UriFormat::IpOnly => format!("an address without a port ({why})"),
                };
                self.raw.wrong_item("master", Some(at), allowed)
            })?;
            let port = |address: &MasterAddress| address.port.unwrap_or(self.master_port.0);
            let is_same =
                |known: &MasterAddress| known.host == address.host && port(known) == port(&address);
            if addresses.iter().any(is_same) {
                repeats.push(at);
            } else {
                addresses.push(address);
            }
        }
        Ok((addresses, repeats))
    }

    /// Where a master is that a function has named.
    ///
    /// # Errors
    /// The text says why it is no address.
    pub fn address(&self, entry: &str) -> Result<MasterAddress, String> {
        let address = MasterAddress::parse(entry).map_err(|error| error.why)?;
        if self.master_uri_format == UriFormat::IpOnly {
            if address.host.parse::<std::net::IpAddr>().is_err() {
                return Err("master_uri_format is ip_only, and this is a name".to_owned());
            }
            if address.port.is_some() {
                return Err("master_uri_format is ip_only, and this has a port".to_owned());
            }
        }
        Ok(address)
    }
}
