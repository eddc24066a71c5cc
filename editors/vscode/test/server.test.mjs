// The real server, started as the extension starts it, answers the protocol that the extension's client speaks.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import protocol from "vscode-languageserver-protocol/node.js";
import server from "../dist/server.js";

const { StreamMessageReader, StreamMessageWriter, createProtocolConnection } = protocol;
const { explained, serverOf } = server;
const PROGRAM = process.env.KUBEVIRT_RENDER ?? "kubevirt-render";
const VM = `apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: web}
spec:
  runStrategy: always
  instancetype: {name: u1.small}
  template: {spec: {domain: {devices: {}}}}
`;
const folder = mkdtempSync(join(tmpdir(), "vscode-"));
after(() => rmSync(folder, { recursive: true }));

// A connection to the server of the folder, with the diagnostics that it has sent.
async function opened({ trusted = true, files = { "vm.yaml": VM } } = {}) {
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(folder, name), text);
  }
  const { command, args, cwd, options } = serverOf({ path: PROGRAM, inlayHints: true, build: true }, folder, trusted);
  const program = spawn(command, args, { cwd });
  const connection = createProtocolConnection(
    new StreamMessageReader(program.stdout),
    new StreamMessageWriter(program.stdin),
  );
  const received = new Map();
  const waiting = new Map();
  connection.onNotification("textDocument/publishDiagnostics", (found) => {
    received.set(found.uri, found.diagnostics);
    waiting.get(found.uri)?.();
  });
  connection.listen();
  const rootUri = pathToFileURL(folder).href;
  const answer = await connection.sendRequest("initialize", {
    processId: process.pid,
    rootUri,
    workspaceFolders: [{ uri: rootUri, name: "folder" }],
    capabilities: {},
    initializationOptions: options,
  });
  await connection.sendNotification("initialized", {});
  const diagnosticsOf = (name) =>
    new Promise((resolve) => {
      const uri = pathToFileURL(join(folder, name)).href;
      waiting.set(uri, () => resolve(received.get(uri)));
      if (received.has(uri)) {
        resolve(received.get(uri));
      }
    });
  const close = async () => {
    await connection.sendRequest("shutdown");
    await connection.sendNotification("exit");
    return new Promise((resolve) => program.on("exit", resolve));
  };
  return { answer, connection, diagnosticsOf, close };
}

test("the server answers what the client asks", { timeout: 60_000 }, async () => {
  const { answer, connection, diagnosticsOf, close } = await opened();
  for (const feature of ["hoverProvider", "completionProvider", "definitionProvider", "referencesProvider",
    "documentSymbolProvider", "inlayHintProvider", "codeActionProvider"]) {
    assert.ok(answer.capabilities[feature], feature);
  }
  const [found] = await diagnosticsOf("vm.yaml");
  assert.equal(found.code, "refused-run-strategy");
  const textDocument = { uri: pathToFileURL(join(folder, "vm.yaml")).href };
  const hover = await connection.sendRequest("textDocument/hover", { textDocument, position: { line: 5, character: 25 } });
  assert.match(hover.contents.value, /u1/);
  assert.equal(await close(), 0);
});

test("a folder that is not trusted has nothing built", { timeout: 60_000 }, async () => {
  const files = { "vm.yaml": VM, "kustomization.yaml": "resources: [vm.yaml]\n", "alone.yaml": VM };
  const { diagnosticsOf, close } = await opened({ trusted: false, files });
  const codes = (await diagnosticsOf("alone.yaml")).map((each) => each.code);
  assert.deepEqual(codes.sort(), ["not-deployed", "refused-run-strategy"]); // the kustomization does not list it
  const first = await Promise.race([diagnosticsOf("vm.yaml"), new Promise((resolve) => setTimeout(resolve, 1500))]);
  assert.ok(first === undefined || first.length === 0);
  await close();
});

test("settings are taken as they are, and the folder is filled in", () => {
  assert.deepEqual(serverOf({ path: "${workspaceFolder}/.venv/bin/k", inlayHints: false, build: true }, "/a", true), {
    command: "/a/.venv/bin/k",
    args: ["lsp"],
    cwd: "/a",
    options: { inlayHints: false, build: true },
  });
});

test("a folder that is not trusted has no program started from it", () => {
  const settings = { path: "${workspaceFolder}/.venv/bin/k", inlayHints: false, build: true };
  const options = { inlayHints: false, build: false };
  assert.deepEqual(serverOf(settings, "/a", false), { command: "kubevirt-render", args: ["lsp"], cwd: homedir(), options });
  assert.equal(serverOf({ ...settings, path: "/opt/k" }, "/a", false).command, "/opt/k");
});

test("a program that is missing is explained", async () => {
  const program = spawn("/nowhere/kubevirt-render");
  const error = await new Promise((resolve) => program.on("error", resolve));
  assert.match(explained("kubevirt-render", error), /install kubevirt-render with its extra lsp, or set kubevirtRender.path/);
  assert.match(explained("kubevirt-render", new Error("x")), /does not answer; the output says why \(x\)/);
});
