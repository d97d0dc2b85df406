//! Masters of a cluster that have common files, as Salt's tutorial has them.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;

use crate::fleet::Fleet;
use crate::master::Master;

/// Configures masters that do not run yet: named by their addresses, with keys and cache
/// in a directory that they share; that directory.
///
/// # Errors
/// When a file cannot be written.
pub fn share_files(fleet: &Fleet, masters: &[Master], pool_port: u16) -> Result<PathBuf> {
    let shared = fleet.path().join("share");
    fs::create_dir_all(&shared)?;
    let ips = masters.iter().map(|of| of.address().ip().to_string());
    let ips: Vec<String> = ips.collect();
    for (master, ip) in masters.iter().zip(&ips) {
        let peers = ips.iter().filter(|of| *of != ip);
        let peers: String = peers.map(|peer| format!("  - {peer}\n")).collect();
        let (pki, cache) = (shared.join("pki"), shared.join("cache"));
        let text = format!(
            "root_dir: {}\nid: {ip}\ncluster_id: master_cluster\ncluster_peers:\n{peers}\
             cluster_pool_port: {pool_port}\ncluster_pki_dir: {}\ncachedir: {}\n",
            fleet.path().display(),
            pki.display(),
            cache.display(),
        );
        let dir = master.dir().join("master.d");
        fs::create_dir_all(&dir)?;
        fs::write(dir.join("cluster.conf"), text)?;
    }
    Ok(shared)
}
