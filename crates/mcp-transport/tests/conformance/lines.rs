//! A far end that reads and writes lines of JSON.

use std::sync::Arc;

use mcp_transport::{
    CallReply,
    contract::{Behaviour, FarEnd, Taken},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    sync::Mutex,
    task::JoinSet,
};

/// Serves one connection of 2025-11-25, from the handshake until it is over.
pub(crate) async fn serve(
    far_end: FarEnd,
    reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite + Send + Unpin + 'static,
) {
    let (lines, writer) = (BufReader::new(reader).lines(), Arc::new(Mutex::new(writer)));
    let mut answers = JoinSet::new();
    let reading = async {
        let mut lines = lines;
        let mut begun = false;
        // What fails to arrive or to be read has the same end: this far end is gone.
        while !begun || far_end.may_take().await {
            let Ok(Some(line)) = lines.next_line().await else { return };
            // A line that was cut is no request, and the last one.
            let Ok(message) = serde_json::from_str::<Value>(&line) else { return };
            match message["method"].as_str() {
                Some("tools/call") => {
                    let taken = received(&far_end, &message);
                    if far_end.behaviour() == Behaviour::AnswersNobodyFirst {
                        for id in [json!("nobody"), json!(4711)] {
                            write(&writer, stray(id)).await;
                        }
                    }
                    let writer = writer.clone();
                    answers.spawn(async move {
                        if let Some(reply) = taken.reply().await {
                            write(&writer, answer(&message, reply)).await;
                        }
                    });
                }
                Some("initialize") => write(&writer, welcome(&message)).await,
                Some("notifications/initialized") => begun = true,
                _ => {}
            }
        }
    };
    tokio::select! {
        () = reading => {}
        () = far_end.ended() => {}
    }
}

async fn write(writer: &Mutex<impl AsyncWrite + Unpin>, message: Value) {
    // Whoever has left does not read it.
    let _ = writer.lock().await.write_all(format!("{message}\n").as_bytes()).await;
}

pub(crate) fn received(far_end: &FarEnd, message: &Value) -> Taken {
    let params = &message["params"];
    far_end.received(params["name"].as_str().unwrap_or_default(), params["arguments"].as_object())
}

pub(crate) fn answer(request: &Value, reply: CallReply) -> Value {
    let (member, value) = match reply {
        CallReply::Result(result) => ("result", json!(result)),
        CallReply::Error(error) => ("error", json!(error)),
        reply => panic!("no far end gives {reply:?}"),
    };
    json!({"jsonrpc": "2.0", "id": request["id"], member: value})
}

pub(crate) fn stray(id: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": "to nobody"}]}})
}

pub(crate) fn welcome(request: &Value) -> Value {
    let result = json!({
        "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
        "serverInfo": {"name": "far end", "version": "1"},
    });
    json!({"jsonrpc": "2.0", "id": request["id"], "result": result})
}
