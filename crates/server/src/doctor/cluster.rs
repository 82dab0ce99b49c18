//! What the doctor finds of the servers that the tables are divided over.

use mailwright_core::ids::ProjectNumber;
use mailwright_store::body;
use mailwright_store::database::cluster::{self, Node, Part};
use mailwright_store::database::migrate::Standing;

use super::Fine;
use super::growth::shown;
use crate::config::Config;
use crate::setup;

/// How many times as large as the mean a part may be before it is worth a look.
const SKEWED: i64 = 4;
/// Bytes that all parts together have before it is looked whether they are alike.
const WORTH_A_LOOK: i64 = 1 << 30;

/// What is known of a cluster.
struct Cluster {
    version: String,
    nodes: Vec<Node>,
    out_of_reach: Vec<String>,
    undivided: Vec<String>,
}

/// The servers and what is wrong with them; nothing where there is one server.
pub(super) async fn finding(config: &Config, standing: Option<Standing>) -> Option<Result<Fine, String>> {
    if standing != Some(Standing::Current) {
        return None;
    }
    let setup = setup::open(config).ok()?;
    let known = setup.db.read(body!(async |rx| {
        let Some(version) = cluster::version(rx).await? else { return Ok(None) };
        let nodes = cluster::nodes(rx).await?;
        let out_of_reach = cluster::out_of_reach(rx).await?;
        let undivided = cluster::undivided(rx).await?;
        Ok(Some(Cluster { version, nodes, out_of_reach, undivided }))
    }));
    let known = match known.await {
        Ok(known) => known?,
        Err(error) => return Some(Err(format!("the servers cannot be asked for: {error}"))),
    };
    if let Err(fault) = known.fault() {
        return Some(Err(fault));
    }
    let parts = setup.db.read_slow(ProjectNumber(0), body!(async |rx| cluster::parts(rx).await)).await;
    Some(match parts {
        Ok(parts) => Ok(known.told(&parts)),
        Err(error) => Err(format!("the parts of the tables cannot be weighed: {error}")),
    })
}

impl Cluster {
    /// What keeps it from working.
    fn fault(&self) -> Result<(), String> {
        if !self.undivided.is_empty() {
            return Err(format!(
                "{} are not divided over the servers; run `mailwright migrate`",
                self.undivided.join(", ")
            ));
        }
        let inactive = self.nodes.iter().filter(|node| !node.is_active).map(|node| &node.address);
        let missing: Vec<_> = inactive.chain(&self.out_of_reach).cloned().collect();
        if !missing.is_empty() {
            return Err(format!(
                "{} cannot be reached by all others; the projects whose rows are there cannot be served until it is back",
                missing.join(", ")
            ));
        }
        Ok(())
    }

    fn told(&self, parts: &[Part]) -> Fine {
        let total: i64 = parts.iter().map(|part| part.bytes).sum();
        let nodes: Vec<String> = self
            .nodes
            .iter()
            .filter(|node| !node.is_coordinator || node.parts > 0)
            .map(|node| format!("{} {} parts", node.address, node.parts))
            .collect();
        let text = format!(
            "Citus {}; {} parts of the tables, {}: {}",
            self.version,
            parts.len(),
            shown(total),
            nodes.join(", ")
        );
        let idle: Vec<_> = self.nodes.iter().filter(|node| node.holds_parts && node.parts == 0).collect();
        if let Some(node) = idle.first() {
            return Fine::Better(format!(
                "{text}; {} has none: move parts there with `select citus_rebalance_start()`",
                node.address
            ));
        }
        match parts.first() {
            Some(largest)
                if total >= WORTH_A_LOOK && largest.bytes > SKEWED * total / parts.len().max(1) as i64 =>
            {
                Fine::Better(format!(
                    "{text}; the largest part has {}, more than {SKEWED} times the mean: see docs/scaling.md",
                    shown(largest.bytes)
                ))
            }
            _ => Fine::Ok(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(address: &str, parts: i64) -> Node {
        let is_coordinator = address == "a:1";
        Node { address: address.into(), is_coordinator, is_active: true, holds_parts: !is_coordinator, parts }
    }

    fn cluster() -> Cluster {
        Cluster {
            version: "13.2".into(),
            nodes: vec![node("a:1", 0), node("b:1", 2), node("c:1", 2)],
            out_of_reach: Vec::new(),
            undivided: Vec::new(),
        }
    }

    fn told(cluster: &Cluster, bytes: [i64; 4]) -> (bool, String) {
        let parts: Vec<_> = (0..).zip(bytes).map(|(from, bytes)| Part { from, bytes }).collect();
        match cluster.told(&parts) {
            Fine::Ok(text) => (true, text),
            Fine::Better(text) => (false, text),
        }
    }

    #[test]
    fn servers_and_parts_are_told() {
        let (is_fine, text) = told(&cluster(), [1 << 20; 4]);
        assert!(is_fine);
        assert_eq!(text, "Citus 13.2; 4 parts of the tables, 4.0 MB: b:1 2 parts, c:1 2 parts");
    }

    #[test]
    fn a_server_without_parts_is_one_to_fill() {
        let mut cluster = cluster();
        cluster.nodes.push(node("d:1", 0));
        let (is_fine, text) = told(&cluster, [1 << 20; 4]);
        assert!(!is_fine && text.contains("d:1 has none"), "{text}");
    }

    #[test]
    fn a_large_part_is_told_where_it_matters() {
        let mut bytes = [0; 4];
        bytes[0] = 1 << 40;
        let (is_fine, text) = told(&cluster(), bytes);
        // of four parts none has more than four times the mean
        assert!(is_fine, "{text}");
        let parts: Vec<_> =
            (0..8).map(|from| Part { from, bytes: if from == 0 { 1 << 40 } else { 1 } }).collect();
        assert!(
            matches!(cluster().told(&parts), Fine::Better(text) if text.contains("the largest part has 1.0 TB"))
        );
    }

    #[test]
    fn what_keeps_it_from_working_is_wrong() {
        let mut broken = cluster();
        assert_eq!(broken.fault(), Ok(()));
        broken.nodes[1].is_active = false;
        broken.out_of_reach = vec!["c:1".into()];
        assert!(broken.fault().unwrap_err().starts_with("b:1, c:1 cannot be reached"));
        broken.undivided = vec!["emails".into()];
        assert!(broken.fault().unwrap_err().starts_with("emails are not divided"));
    }
}
