//! The policy inside an MCP client of one's own: blocking, without a runtime, its loop in sight.
//!
//! `cargo run -p replay-policy --example policy_alone`

use replay_policy::{
    Checkpoint, ConservativePolicy, Decision, Delivery, FailedAttempt, Hints, Reason, ReplayPolicy, Trust,
    policy_fn,
};

/// A server that does its work and loses the connection before the first answer.
struct Server {
    hints: Option<Hints>,
    executions: u32,
    connections: u32,
}

impl Server {
    fn new(hints: Option<Hints>) -> Self {
        Self { hints, executions: 0, connections: 1 }
    }

    fn call(&mut self) -> Result<&'static str, Delivery> {
        self.executions += 1;
        if self.executions == 1 {
            return Err(Delivery::Unknown);
        }
        Ok("done")
    }

    fn reconnect_and_list(&mut self) -> Option<Hints> {
        self.connections += 1;
        self.hints
    }
}

/// The loop of a client: every failure is a question, and so is every new listing.
fn invoke(server: &mut Server, tool: &str, policy: &dyn ReplayPolicy) -> Result<u32, Reason> {
    let mut hints = server.hints;
    let mut delivery = Delivery::Unsent;
    let mut replays = 0;
    loop {
        let failed = match server.call() {
            Ok(_) => return Ok(replays),
            Err(failed) => failed,
        };
        delivery = delivery.join(failed);

        let question = |checkpoint, hints| {
            FailedAttempt::new(tool, checkpoint)
                .with_delivery(delivery)
                .with_trust(Trust::BOTH) // a real client reads it here, each time
                .with_hints(hints)
                .with_attempts(replays + 1)
                .with_replays(replays)
        };
        permit(policy.decide(&question(Checkpoint::BeforeReconnect, hints)))?;
        hints = server.reconnect_and_list();
        permit(policy.decide(&question(Checkpoint::BeforeReplay, hints)))?;
        replays += 1;
    }
}

fn permit(decision: Decision) -> Result<(), Reason> {
    match decision {
        Decision::Replay => Ok(()),
        Decision::Deny(reason) => Err(reason),
    }
}

fn main() {
    let gate = ConservativePolicy::default().with_max_replays(2);
    let policy = policy_fn(move |attempt: &FailedAttempt| {
        if attempt.tool().starts_with("pay_") {
            Decision::Deny(Reason::Custom("payments"))
        } else {
            gate.decide(attempt)
        }
    });

    let cases = [
        ("write", None, Err(Reason::Unannotated)),
        ("write", Some(Hints::idempotent()), Ok(1)),
        ("pay_rent", Some(Hints::idempotent()), Err(Reason::Custom("payments"))),
    ];
    for (tool, hints, expected) in cases {
        let mut server = Server::new(hints);
        let outcome = invoke(&mut server, tool, &policy);
        assert_eq!(outcome, expected);
        match outcome {
            Ok(replays) => println!("{tool}: answered after {replays} replay"),
            Err(reason) => println!("{tool}: may have run, not sent again ({reason})"),
        }
        assert_eq!(server.executions, server.connections);
    }
}
