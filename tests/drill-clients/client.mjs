// Calls one tool with the official TypeScript SDK: client.mjs CONFIG TOOL ARGUMENTS
import { readFileSync } from "node:fs";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [config, tool, args] = process.argv.slice(2);
const { url, command, args: words } = JSON.parse(readFileSync(config, "utf8")).mcpServers.drill;
const transport = url
  ? new StreamableHTTPClientTransport(new URL(url))
  : new StdioClientTransport({ command, args: words });
const client = new Client({ name: "drilled", version: "1.0.0" });

let code;
try {
  await client.connect(transport);
  await client.listTools();
  const result = await client.callTool({ name: tool, arguments: JSON.parse(args) }, { timeout: 10000 });
  code = result.isError ? 1 : 0;
} catch (error) {
  // It says nothing of whether the tool ran.
  console.error(`${error.name}: ${error.message}`);
  code = 5;
}
await client.close().catch(() => {});
process.exit(code);
