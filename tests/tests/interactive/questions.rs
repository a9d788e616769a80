//! What a server asks in the middle of a call.

use std::time::Duration;

use mcp_tool::{Outcome, ToolCall};
use mcp_tool_cli::fault_server::{Ask, Fault, Http, Scenario, Sessions};

use tokio::time::timeout;

use crate::{
    person::{Person, Seen},
    stage::{Front, Stage},
    tools,
};

const QUESTIONS: [Ask; 3] = [Ask::Elicitation, Ask::Sampling, Ask::Roots];

fn asks(scenario: Scenario, call: u32) -> Scenario {
    scenario.on_call(call, Fault::Ask { what: Ask::Elicitation })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_reaches_the_host_and_its_answer_the_server_and_the_call_completes() {
    for front in Front::BOTH {
        for what in QUESTIONS {
            let person = Person::new();
            let scenario = tools().on_call(1, Fault::Ask { what });
            let stage = Stage::with_handler(front, &scenario, person.clone()).await;
            person.decides();
            let answer = stage.client.call(ToolCall::new("put")).await.unwrap();
            assert!(answer.reply.result().is_some(), "{front:?} {what:?}");
            assert_eq!(person.seen(), Seen { asked: 1, answered: 1, let_off: 0 });
            let record = stage.record();
            assert_eq!((record.replies(), record.executions().len()), (vec![true], 1), "{front:?} {what:?}");
            stage.close().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_without_a_handler_refuses_cleanly_and_the_call_goes_on() {
    for front in Front::BOTH {
        for (what, is_result) in [(Ask::Elicitation, true), (Ask::Sampling, false), (Ask::Roots, true)] {
            let stage = Stage::open(front, &tools().on_call(1, Fault::Ask { what })).await;
            let answer = stage.client.call(ToolCall::new("put")).await.unwrap();
            assert!(answer.reply.result().is_some(), "{front:?} {what:?}");
            assert_eq!(stage.record().replies(), [is_result], "{front:?} {what:?}");
            stage.close().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replay_asks_again_and_what_the_host_thought_of_the_lost_question_reaches_nobody() {
    let stateless = tools().http(Http::new().sessions(Sessions::Stateless));
    for (front, scenario) in [(Front::Pipes, tools()), (Front::Http, tools()), (Front::Http, stateless)] {
        let person = Person::new();
        let stage = Stage::with_handler(front, &asks(asks(scenario, 1), 2), person.clone()).await;
        let client = stage.client.clone();
        let call = tokio::spawn(async move { client.call(ToolCall::new("get")).await });
        person.until(|seen| seen.asked == 1).await;
        stage.kill().await;
        person.until(|seen| seen.let_off == 1).await;
        person.until(|seen| seen.asked == 2).await;
        person.decides();
        let answer = call.await.unwrap().unwrap();
        assert_eq!((answer.attempts, answer.replays), (2, 1), "{front:?}");
        assert_eq!(person.seen(), Seen { asked: 2, answered: 1, let_off: 1 });
        let record = stage.record();
        // Both processes ask under the same id: one answer came, and the second one got it.
        assert_eq!((record.replies(), record.received().len()), (vec![true], 2), "{front:?}");
        assert!(!record.turned_away().contains(&String::new()), "no answer went to who had not asked");
        stage.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_is_lost_while_the_host_thinks_ends_by_the_usual_rule() {
    for front in Front::BOTH {
        let person = Person::new();
        let stage = Stage::with_handler(front, &asks(tools(), 1), person.clone()).await;
        let client = stage.client.clone();
        let call = tokio::spawn(async move { client.call(ToolCall::new("put")).await });
        person.until(|seen| seen.asked == 1).await;
        stage.kill().await;
        let error = call.await.unwrap().unwrap_err();
        assert_eq!((error.outcome(), error.reason().code()), (Outcome::Unknown, "unannotated"), "{front:?}");
        person.until(|seen| seen.let_off == 1).await;
        assert_eq!((stage.record().received().len(), stage.record().replies()), (1, vec![]));
        stage.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_idle_timeout_waits_for_the_host() {
    for front in Front::BOTH {
        let person = Person::new();
        let stage = Stage::with_handler(front, &asks(tools(), 1), person.clone()).await;
        stage.client.catalog().await.unwrap();
        let idle = Duration::from_millis(300);
        let (client, call) = (stage.client.clone(), ToolCall::new("put").with_idle_timeout(idle));
        let mut call = tokio::spawn(async move { client.call(call).await });
        person.until(|seen| seen.asked == 1).await;
        assert!(timeout(3 * idle, &mut call).await.is_err(), "{front:?}");
        person.decides();
        assert!(call.await.unwrap().is_ok(), "{front:?}");
        stage.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_http_a_call_that_was_given_up_takes_its_question_with_it() {
    let person = Person::new();
    let stage = Stage::with_handler(Front::Http, &asks(tools(), 1), person.clone()).await;
    let client = stage.client.clone();
    let call = tokio::spawn(async move { client.call(ToolCall::new("put")).await });
    person.until(|seen| seen.asked == 1).await;
    call.abort();
    person.until(|seen| seen.let_off == 1).await;
    stage.wait(|record| record.cancellations().len() == 1).await;
    assert!(stage.client.call(ToolCall::new("put")).await.is_ok(), "the session goes on");
    assert_eq!(stage.record().replies(), Vec::<bool>::new());
    stage.close().await;
}
