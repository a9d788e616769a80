use mcp_tool::{
    CallReply,
    rmcp::model::{CallToolResult, ContentBlock, ResourceContents},
};
use serde::Serialize;

use super::attachments::Attachments;

/// A reply as text: text blocks as they are, anything else described in one line each. Structured content
/// stands in for blocks where there are none.
pub(super) fn of(reply: &CallReply, attachments: &mut Attachments<'_>) -> String {
    match reply {
        CallReply::Result(result) => of_result(result, attachments),
        CallReply::InputRequired(request) => pretty(request),
        CallReply::Task(task) => pretty(task),
        _ => String::new(),
    }
}

fn of_result(result: &CallToolResult, attachments: &mut Attachments<'_>) -> String {
    let mut text = String::new();
    for block in &result.content {
        text.push_str(&of_block(block, attachments));
        if !text.ends_with('\n') {
            text.push('\n');
        }
    }
    match &result.structured_content {
        Some(structured) if result.content.is_empty() => pretty(structured),
        _ => text,
    }
}

fn of_block(block: &ContentBlock, attachments: &mut Attachments<'_>) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => {
            let saved = attachments.take(&image.data, &image.mime_type);
            format!("[image, {}, {saved}]", image.mime_type)
        }
        ContentBlock::Audio(audio) => {
            let saved = attachments.take(&audio.data, &audio.mime_type);
            format!("[audio, {}, {saved}]", audio.mime_type)
        }
        ContentBlock::ResourceLink(link) => match &link.mime_type {
            Some(mime_type) => format!("[link, {}, {}, {mime_type}]", link.name, link.uri),
            None => format!("[link, {}, {}]", link.name, link.uri),
        },
        ContentBlock::Resource(resource) => match &resource.resource {
            ResourceContents::TextResourceContents { text, .. } => text.clone(),
            ResourceContents::BlobResourceContents { uri, blob, mime_type, .. } => {
                let mime_type = mime_type.as_deref().unwrap_or("application/octet-stream");
                format!("[resource, {uri}, {}]", attachments.take(blob, mime_type))
            }
            _ => "[resource]".into(),
        },
        _ => "[content of another kind]".into(),
    }
}

fn pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shown(result: serde_json::Value) -> String {
        of_result(&serde_json::from_value(result).unwrap(), &mut Attachments::new(None))
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
             [link, a, file:///a]\ninside\n[resource, file:///c, 2 bytes]\n"
        );
    }

    #[test]
    fn what_is_no_text_is_saved_where_a_folder_is_named_and_nothing_is_written_over() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("2.wav"), "mine").unwrap();
        let result: CallToolResult = serde_json::from_value(json!({ "content": [
            { "type": "image", "data": "aGVsbG8=", "mimeType": "image/png" },
            { "type": "audio", "data": "aGVsbG8h", "mimeType": "audio/wav" },
            { "type": "image", "data": "***", "mimeType": "image/png" },
            { "type": "resource", "resource": { "uri": "file:///../c", "blob": "aGk=" } },
        ]}))
        .unwrap();
        let mut attachments = Attachments::new(Some(folder.path()));
        let text = of_result(&result, &mut attachments);
        let at = |name: &str| folder.path().join(name).display().to_string();
        assert_eq!(
            text,
            format!(
                "[image, image/png, 5 bytes, {}]\n[audio, audio/wav, 6 bytes, {}]\n\
                 [image, image/png, not readable as base64]\n[resource, file:///../c, 2 bytes, {}]\n",
                at("1.png"),
                at("3.wav"),
                at("3.bin")
            )
        );
        assert_eq!(std::fs::read_to_string(at("1.png")).unwrap(), "hello");
        assert_eq!(std::fs::read_to_string(at("2.wav")).unwrap(), "mine");
        assert!(attachments.into_problem().is_none());
        let gone = folder.path().join("gone");
        let mut attachments = Attachments::new(Some(&gone));
        assert!(of_result(&result, &mut attachments).starts_with("[image, image/png, 5 bytes]\n"));
        assert!(attachments.into_problem().is_some());
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
