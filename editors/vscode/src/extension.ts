// The extension starts one server for each folder of the workspace, and starts it again where its settings change.

import type { ExtensionContext, WorkspaceFolder } from "vscode";
import { commands, window, workspace } from "vscode";
import type { LanguageClientOptions, ServerOptions } from "vscode-languageclient/node";
import { LanguageClient } from "vscode-languageclient/node";
import type { Settings } from "./server";
import { explained, serverOf } from "./server";

const SECTION = "kubevirtRender"; // of the settings; the client looks for `trace.server` there
const NAME = "KubeVirt Render";
const RESTARTING = ["path", "build"]; // settings that count when a server starts

const output = window.createOutputChannel(NAME);
const clients = new Map<string, LanguageClient>();
let running = Promise.resolve(); // one change at a time

export function activate(context: ExtensionContext): void {
  context.subscriptions.push(
    output,
    commands.registerCommand(`${SECTION}.restart`, restart),
    commands.registerCommand(`${SECTION}.showOutput`, () => {
      output.show();
    }),
    workspace.onDidChangeWorkspaceFolders((change) => inTurn(async () => {
      await Promise.all(change.removed.map(stop));
      await Promise.all(change.added.map(start));
    })),
    workspace.onDidChangeConfiguration((change) => {
      if (RESTARTING.some((name) => change.affectsConfiguration(`${SECTION}.${name}`))) {
        void restart();
      } else if (change.affectsConfiguration(SECTION)) {
        void inTurn(tellAll);
      }
    }),
    workspace.onDidGrantWorkspaceTrust(restart),
  );
  void inTurn(startAll);
}

export function deactivate(): Promise<void> {
  return inTurn(stopAll);
}

function restart(): Promise<void> {
  return inTurn(async () => {
    await stopAll();
    await startAll();
  });
}

function inTurn(change: () => Promise<void>): Promise<void> {
  running = running.then(change, change);
  return running;
}

async function startAll(): Promise<void> {
  await Promise.all((workspace.workspaceFolders ?? []).map(start));
}

async function stopAll(): Promise<void> {
  await Promise.all((workspace.workspaceFolders ?? []).map(stop));
}

async function tellAll(): Promise<void> {
  for (const folder of workspace.workspaceFolders ?? []) {
    const settings = { [SECTION]: { inlayHints: settingsOf(folder).inlayHints } };
    await clients.get(folder.uri.toString())?.sendNotification("workspace/didChangeConfiguration", { settings });
  }
}

async function start(folder: WorkspaceFolder): Promise<void> {
  if (folder.uri.scheme !== "file") {
    return;
  }
  const server = serverOf(settingsOf(folder), folder.uri.fsPath, workspace.isTrusted);
  const run: ServerOptions = { command: server.command, args: server.args, options: { cwd: server.cwd } };
  const options: LanguageClientOptions = {
    documentSelector: [{ scheme: "file", language: "yaml", pattern: `${folder.uri.fsPath}/**/*` }],
    workspaceFolder: folder,
    initializationOptions: server.options,
    outputChannel: output,
  };
  const client = new LanguageClient(SECTION, NAME, run, options);
  clients.set(folder.uri.toString(), client);
  try {
    await client.start();
  } catch (error) {
    clients.delete(folder.uri.toString());
    void complain(explained(server.command, error));
  }
}

async function stop(folder: WorkspaceFolder): Promise<void> {
  const client = clients.get(folder.uri.toString());
  clients.delete(folder.uri.toString());
  await client?.dispose();
}

async function complain(message: string): Promise<void> {
  const settings = "Open Settings";
  if ((await window.showErrorMessage(`${NAME}: ${message}`, settings)) === settings) {
    await commands.executeCommand("workbench.action.openSettings", `${SECTION}.path`);
  }
}

function settingsOf(folder: WorkspaceFolder): Settings {
  const found = workspace.getConfiguration(SECTION, folder);
  return {
    path: found.get("path", "kubevirt-render"),
    inlayHints: found.get("inlayHints", true),
    build: found.get("build", true),
  };
}
