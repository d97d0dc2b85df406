//! The address of a master's name.

use std::net::IpAddr;

use halite_proto::MasterUri;

/// Looks up an address of a master; with `ipv6` only one of IPv6, or of IPv4.
///
/// # Errors
/// When there is none; the reason as text.
pub(super) async fn address_of(uri: &MasterUri, ipv6: Option<bool>) -> Result<IpAddr, String> {
    if let Ok(address) = uri.host().parse::<IpAddr>() {
        return Ok(address);
    }
    match tokio::net::lookup_host((uri.host(), uri.port())).await {
        Ok(mut addresses) => addresses
            .find(|address| ipv6.is_none_or(|ipv6| address.is_ipv6() == ipv6))
            .map(|address| address.ip())
            .ok_or_else(|| "no address of the required family".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
