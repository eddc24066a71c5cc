// How the server is started, and what it is told. Nothing here needs VS Code, so tests start the real server with it.

import { homedir } from "node:os";

// What a setting says for the folder, and the program that the PATH has.
const FOLDER = "${workspaceFolder}";
const PROGRAM = "kubevirt-render";

export interface Settings {
  path: string;
  inlayHints: boolean;
  build: boolean;
}

export interface Server {
  command: string;
  args: string[];
  cwd: string;
  // Its own settings: `docs/editors.md` lists them.
  options: { inlayHints: boolean; build: boolean };
}

// The server of one folder. A folder that is not trusted has nothing built: a kustomization or a chart names programs. Nor is
// a program started from it: Windows looks in the working directory before the PATH.
export function serverOf(settings: Settings, folder: string, trusted: boolean): Server {
  const path = trusted || !settings.path.includes(FOLDER) ? settings.path : PROGRAM;
  return {
    command: path.replaceAll(FOLDER, folder),
    args: ["lsp"],
    cwd: trusted ? folder : homedir(),
    options: { inlayHints: settings.inlayHints, build: settings.build && trusted },
  };
}

// What to tell the user where the server does not start.
export function explained(command: string, error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "ENOENT" || code === "EACCES") {
    return `${command} can't be started; install kubevirt-render with its extra lsp, or set kubevirtRender.path`;
  }
  return `${command} lsp does not answer; the output says why (${error instanceof Error ? error.message : String(error)})`;
}
