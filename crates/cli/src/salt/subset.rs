//! `--subset`: the job runs on some of the targeted minions, at random, that
//! answer and have its function.

use halite_crypto::random_bytes;
use halite_gather::Return;
use halite_proto::Value;
use halite_proto::publish::FunSpec;

use super::Program;
use halite_client::{ClientError, Job, Report};

impl Program<'_> {
    /// The ids of `count` minions that the job can go to.
    pub(super) async fn subset(&mut self, count: usize) -> Result<Vec<String>, ClientError> {
        let wanted = match self.job().function {
            FunSpec::One(fun) => vec![fun],
            FunSpec::Many(funs) => funs,
        };
        let job = Job {
            function: FunSpec::One("sys.list_functions".to_owned()),
            arguments: Vec::new(),
            returners: String::new(),
            ..self.job()
        };
        let Some(mut session) = self.client.start(&job, self.timeout).await? else {
            return Ok(Vec::new());
        };
        let mut fit = Vec::new();
        while let Some(report) = session.next().await? {
            if let Report::Returned(Return { id, value, .. }) = report
                && has_all(&value, &wanted)
            {
                fit.push(id);
            }
        }
        fit.sort_by_cached_key(|_| random_bytes::<8>());
        fit.truncate(count);
        Ok(fit)
    }
}

fn has_all(functions: &Value, wanted: &[String]) -> bool {
    let functions = functions.as_list().unwrap_or_default();
    wanted
        .iter()
        .all(|fun| functions.contains(&Value::from(fun.as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_minions_with_the_function_fit() {
        let functions = Value::List(vec!["test.ping".into(), "test.echo".into()]);
        let wanted = |names: &[&str]| -> Vec<String> {
            names.iter().map(|name| (*name).to_owned()).collect()
        };
        assert!(has_all(&functions, &wanted(&["test.ping"])));
        assert!(!has_all(&functions, &wanted(&["test.ping", "no.such"])));
        assert!(!has_all(
            &Value::from("not available"),
            &wanted(&["test.ping"])
        ));
    }
}
