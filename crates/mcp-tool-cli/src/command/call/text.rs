use mcp_tool::{
    CallReply,
    rmcp::model::{CallToolResult, ContentBlock, ResourceContents},
};
use serde::Serialize;

/// A reply as text: text blocks as they are, anything else described in one line each. Structured content
/// stands in for blocks where there are none.
pub(super) fn of(reply: &CallReply) -> String {
    match reply {
        CallReply::Result(result) => of_result(result),
        CallReply::InputRequired(request) => pretty(request),
        CallReply::Task(task) => pretty(task),
        _ => String::new(),
    }
}

fn of_result(result: &CallToolResult) -> String {
    let mut text = String::new();
    for block in &result.content {
        text.push_str(&of_block(block));
        if !text.ends_with('\n') {
            text.push('\n');
        }
    }
    match &result.structured_content {
        Some(structured) if result.content.is_empty() => pretty(structured),
        _ => text,
    }
}

fn of_block(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => format!("[image, {}, {} bytes]", image.mime_type, decoded(&image.data)),
        ContentBlock::Audio(audio) => format!("[audio, {}, {} bytes]", audio.mime_type, decoded(&audio.data)),
        ContentBlock::ResourceLink(link) => format!("[resource, {}]", link.uri),
        ContentBlock::Resource(resource) => match &resource.resource {
            ResourceContents::TextResourceContents { text, .. } => text.clone(),
            ResourceContents::BlobResourceContents { uri, blob, .. } => {
                format!("[resource, {uri}, {} bytes]", decoded(blob))
            }
            _ => "[resource]".into(),
        },
        _ => "[content of another kind]".into(),
    }
}

/// How many bytes this much base64 stands for.
fn decoded(base64: &str) -> usize {
    base64.trim_end_matches('=').len() * 3 / 4
}

fn pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shown(result: serde_json::Value) -> String {
        of_result(&serde_json::from_value(result).unwrap())
    }

    #[test]
    fn text_is_shown_as_it_is_and_anything_else_in_one_line() {
        let result = json!({ "content": [
            { "type": "text", "text": "a\nb" },
            { "type": "text", "text": "ends in a newline\n" },
            { "type": "image", "data": "aGVsbG8=", "mimeType": "image/png" },
            { "type": "audio", "data": "aGVsbG8h", "mimeType": "audio/wav" },
            { "type": "resource_link", "uri": "file:///a", "name": "a" },
            { "type": "resource", "resource": { "uri": "file:///b", "text": "inside" } },
            { "type": "resource", "resource": { "uri": "file:///c", "blob": "aGk=" } },
        ]});
        assert_eq!(
            shown(result),
            "a\nb\nends in a newline\n[image, image/png, 5 bytes]\n[audio, audio/wav, 6 bytes]\n\
             [resource, file:///a]\ninside\n[resource, file:///c, 2 bytes]\n"
        );
    }

    #[test]
    fn structured_content_stands_in_for_blocks_where_there_are_none() {
        let structured = json!({ "n": 1 });
        assert_eq!(shown(json!({ "content": [], "structuredContent": structured })), "{\n  \"n\": 1\n}\n");
        let both = json!({ "content": [{ "type": "text", "text": "one" }], "structuredContent": structured });
        assert_eq!(shown(both), "one\n");
        assert_eq!(shown(json!({ "content": [] })), "");
    }
}
