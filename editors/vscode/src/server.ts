// How the server is started, and what it is told. Nothing here needs VS Code, so tests start the real server with it.

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

// The server of one folder. A folder that is not trusted has nothing built: a kustomization or a chart names programs.
export function serverOf(settings: Settings, folder: string, trusted: boolean): Server {
  return {
    command: settings.path.replaceAll("${workspaceFolder}", folder),
    args: ["lsp"],
    cwd: folder,
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
