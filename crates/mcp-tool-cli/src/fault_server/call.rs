//! What a `tools/call` leads to.
use super::{
    Ask, Fault, When,
    event::{Event, Execution, Receipt},
    fault::Stage,
    process::{self, LateWork},
    protocol::{Protocol, Request},
    step::{NOBODYS_ID, Portion, Step},
    task,
};
use serde_json::{Value, json};
use std::{
    hash::{DefaultHasher, Hash, Hasher},
    io,
};

/// The state that goes with a request for input, and comes back with its continuation.
const ASKED: &str = "asked for the colour";

impl Protocol {
    pub(super) fn call(&mut self, request: &Request) -> io::Result<Vec<Step>> {
        let tool = request.params["name"].as_str().unwrap_or_default();
        let fault = self.receive(&request.id, &request.params)?;
        if !self.lister.tools().contains(tool) {
            return Ok(vec![request.error(-32602, format!("unknown tool: {tool}"))]);
        }
        if let Some(fault) = &fault {
            self.journal.fault(fault.name())?;
        }
        if fault.as_ref().is_none_or(|fault| fault.stage() == Stage::Committed) {
            self.journal.commit(&Event::Executed(self.execution(request, tool)))?;
        }
        if let Some(Fault::KeptTask { .. }) = &fault {
            self.keep_task(tool)?;
        }
        if let Some(Fault::DieAndCommitLate { when }) = &fault {
            let work = LateWork { when: when.clone(), execution: self.execution(request, tool) };
            process::start_worker(&work, &self.journal)?;
        }
        let answer = self.text(request, format!("{tool} ran"));
        Ok(match fault {
            None => vec![answer],
            Some(fault) => self.strike(fault, request, answer),
        })
    }

    /// Enters the call in the ledger, and finds its fault by its place there.
    pub(super) fn receive(&mut self, id: &Value, params: &Value) -> io::Result<Option<Fault>> {
        self.calls += 1;
        let start = self.journal.start();
        self.journal.record(&Event::Received(Receipt {
            start,
            call: self.calls,
            id: id.clone(),
            tool: params["name"].as_str().unwrap_or_default().to_owned(),
            arguments: digest(&params["arguments"]),
            continues: params["requestState"] == ASKED && params["inputResponses"]["colour"].is_object(),
        }))?;
        let of_ledger = self.tally.number_of(start, self.calls)?;
        Ok(self.scenario.fault(of_ledger, self.calls).cloned())
    }

    fn execution(&self, request: &Request, tool: &str) -> Execution {
        Execution {
            start: self.journal.start(),
            id: request.id.clone(),
            tool: tool.to_owned(),
            key: request.params["arguments"]["key"].clone(),
        }
    }

    fn text(&self, request: &Request, text: String) -> Step {
        request.result(json!({"content": [{"type": "text", "text": text}], "isError": false}))
    }

    fn strike(&mut self, fault: Fault, request: &Request, answer: Step) -> Vec<Step> {
        match fault {
            // The first four strike before a call is read, unless it comes before it is waited for.
            Fault::DieUnread { .. } | Fault::DieMidRead { .. } => vec![Step::Die],
            Fault::StopReading => vec![Step::StopReading],
            Fault::CloseStdin => vec![Step::CloseStdin],
            Fault::DieAfterBytes { .. }
            | Fault::DieBeforeCommit
            | Fault::DieAndCommitLate { .. }
            | Fault::DieAfterCommit => vec![Step::Die],
            Fault::HangBeforeCommit | Fault::Hang => Vec::new(),
            Fault::CloseStdout => vec![Step::CloseStdout],
            Fault::DieMidAnswer => vec![part(answer, Portion::Half), Step::Die],
            Fault::DieBeforeNewline => vec![part(answer, Portion::AllButTheEnd), Step::Die],
            Fault::DieAfterAnswer => vec![answer, Step::Die],
            Fault::AnswerLate { when } => vec![Step::Wait(when), answer],
            Fault::AnswerTwice => vec![answer.clone(), answer],
            Fault::AnswerWrongId => vec![with_id(answer, json!(NOBODYS_ID))],
            Fault::AnswerStringId => {
                let id = request.id.as_str().map_or_else(|| request.id.to_string(), str::to_owned);
                vec![with_id(answer, json!(id))]
            }
            Fault::AnswerNoToolResult => vec![request.result(json!({"weather": "fine"}))],
            Fault::AnswerError { code, message } => vec![request.error(code, message)],
            Fault::AnswerIsError { text } => {
                let content = json!([{"type": "text", "text": text}]);
                vec![request.result(json!({"content": content, "isError": true}))]
            }
            Fault::AnswerHuge { bytes } => vec![self.text(request, "x".repeat(bytes))],
            Fault::FloodStderr { bytes } => vec![Step::Diagnose(bytes), answer],
            Fault::Stray { lines } => lines.into_iter().map(Step::stray).chain([answer]).collect(),
            Fault::StrayOnly { lines } => lines.into_iter().map(Step::stray).collect(),
            Fault::Progress { every_ms, times } => progress(request, every_ms, times, answer),
            Fault::InputRequired => vec![request.result(input_required())],
            Fault::Task => vec![request.result(task::made(&format!("task-{}", request.id)))],
            Fault::KeptTask { .. } => vec![request.result(task::made(&self.task_id()))],
            Fault::ChangeTools { tools } => {
                self.lister.change(tools);
                vec![answer, self.tools_changed()]
            }
            Fault::Http(fault) => match answer {
                Step::Send(answer) => vec![Step::Http(fault, answer)],
                other => vec![other],
            },
            Fault::Ask { what } => {
                let id = format!("ask-{}", self.calls);
                let question = question(what, &id);
                self.asked.insert(id, vec![answer]);
                vec![Step::Send(question)]
            }
        }
    }
}

/// Equal for equal JSON, in all processes of one build.
fn digest(arguments: &Value) -> String {
    let mut hasher = DefaultHasher::new();
    arguments.to_string().hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

fn part(answer: Step, portion: Portion) -> Step {
    let Step::Send(message) = answer else { return answer };
    Step::SendPart(message, portion)
}

fn with_id(answer: Step, id: Value) -> Step {
    let Step::Send(mut message) = answer else { return answer };
    message["id"] = id;
    Step::Send(message)
}

fn progress(request: &Request, every_ms: u64, times: u32, answer: Step) -> Vec<Step> {
    let token = &request.params["_meta"]["progressToken"];
    let mut steps = Vec::new();
    for done in 1..=times {
        steps.push(Step::Wait(When::Millis(every_ms)));
        if !token.is_null() {
            steps.push(Step::Send(json!({
                "jsonrpc": "2.0",
                "method": "notifications/progress",
                "params": {"progressToken": token, "progress": done, "total": times},
            })));
        }
    }
    steps.push(answer);
    steps
}

fn question(what: Ask, id: &str) -> Value {
    let (method, params) = match what {
        Ask::Roots => ("roots/list", json!({})),
        Ask::Ping => ("ping", json!({})),
        Ask::Elicitation => ("elicitation/create", elicitation()),
        Ask::Sampling => (
            "sampling/createMessage",
            json!({
                "messages": [{"role": "user", "content": {"type": "text", "text": "Which colour?"}}],
                "maxTokens": 10,
            }),
        ),
    };
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn elicitation() -> Value {
    json!({
        "mode": "form",
        "message": "Which colour?",
        "requestedSchema": {"type": "object", "properties": {"colour": {"type": "string"}}},
    })
}

fn input_required() -> Value {
    json!({
        "resultType": "input_required",
        "inputRequests": {"colour": {"method": "elicitation/create", "params": elicitation()}},
        "requestState": ASKED,
    })
}
