"""The protocol: requests and notifications of an editor, answered by one session.

All answers are made by one thread, in the order of the requests, so that no answer is about an older text than the one before.
A change waits a moment for the next one; what is judged then has all of them. Targets are built by other threads, so that an
answer waits for kustomize only if it is about the objects of a target that changed. Before a target is judged, a further change
may come: what is not built yet is then built with that.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer

from krm_fn import __version__
from krm_fn.base.console import NAME
from krm_fn.base.value import Value
from krm_fn.lsp.answers import Diagnostic
from krm_fn.lsp.converting import Converter, file_of, uri_of
from krm_fn.lsp.index import NamePlace
from krm_fn.lsp.session import ALL, Session
from krm_fn.repositories.pools import cores

PAUSE = 0.02  # seconds without a further change before a text is judged
SETTINGS = "kubevirtRender"  # where the server's own settings stand among those of an editor
HINTS, BUILD = "inlayHints", "build"  # settings
WATCHED = "**/{*.yaml,*.yml,*.json,*.tpl,Kptfile,Kustomization,.sourceignore}"


class OpenText(Value):
    """The text of an open file, and the number that the editor gave it."""

    text: str
    version: int


class Server(LanguageServer):
    """The server of one editor. `hints` is False where the user has turned hints off.

    With `afresh`, each judgement begins with nothing.
    """

    def __init__(self, *, afresh: bool = False) -> None:
        super().__init__(NAME, __version__)
        self.session = Session(afresh=afresh)
        self.hints = True
        self._worker, self._builders = ThreadPoolExecutor(1), ThreadPoolExecutor(cores())
        self._open: dict[str, OpenText] = {}  # replaced, never changed: the worker may be reading it
        self._changed: set[str] = set()
        self._said: set[str] = set()
        self._judging: asyncio.Task[None] | None = None

    async def work(self, call: Callable[..., Any], *given: Any, **named: Any) -> Any:
        """What a method of the session answers about the texts as they are now."""
        texts = self._open

        def answer() -> Any:
            self.session.take({file: each.text for file, each in texts.items()})
            return call(*given, **named)

        return await asyncio.get_running_loop().run_in_executor(self._worker, answer)

    async def beside(self, build: Callable[[], None]) -> None:
        """Build a target while the session answers."""
        await asyncio.get_running_loop().run_in_executor(self._builders, build)

    async def build_for(self, uri: str) -> None:
        """Build the target of a file, before an answer about its objects: other answers need not wait for that."""
        if file := file_of(uri):
            for build in await self.work(self.session.workspace.builds_for, file):
                await self.beside(build)

    def begin(self, folder: str | None, options: object) -> None:
        """Take the folder of the workspace, and the user's settings."""
        if folder and os.path.isdir(folder):  # noqa: PTH112
            os.chdir(folder)
        self.configure(options)

    def configure(self, options: object) -> None:
        """Take the user's settings: `{"inlayHints": false}` turns hints off, `{"build": false}` builds nothing from then on."""
        found: Any = options
        if isinstance(found, dict):
            found = found.get(SETTINGS, found)
        if isinstance(found, dict):
            self.hints = found[HINTS] if isinstance(found.get(HINTS), bool) else self.hints
            if found.get(BUILD) is False:  # only a new server builds again: an editor that does not trust a folder says it once
                self.session.workspace.may_build = False

    def take(self, uri: str, text: OpenText | None) -> None:
        """Take a file's unsaved text, None if the file on the disk counts again; judge what it belongs to."""
        file = file_of(uri)
        if file is None:
            return
        others = {each: of for each, of in self._open.items() if each != file}
        self._open = {**others, file: text} if text else others
        self.judge_soon(file)

    def judge_soon(self, *files: str) -> None:
        """Judge what these files belong to when no further change comes for a moment."""
        self._changed.update(files)
        if self._judging is None or self._judging.done():
            self._judging = asyncio.get_running_loop().create_task(self._judge())

    async def watch(self) -> None:
        """Ask the editor to tell of files that change on the disk, if it can."""
        asked = self.client_capabilities.workspace
        if asked and asked.did_change_watched_files and asked.did_change_watched_files.dynamic_registration:
            options = lsp.DidChangeWatchedFilesRegistrationOptions([lsp.FileSystemWatcher(WATCHED)])
            watching = lsp.Registration("watch", lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            await self.client_register_capability_async(lsp.RegistrationParams([watching]))

    async def _judge(self) -> None:
        while self._changed:
            before = self._open, len(self._changed)
            await asyncio.sleep(PAUSE)
            if (self._open, len(self._changed)) != before:
                continue
            files, texts = sorted(self._changed), self._open
            self._changed.clear()
            if await self._built(await self.work(self.session.builds_due, files)):
                self.publish(await self.work(self.session.change), texts)
                self.say(await self.work(self.session.unmeasured))

    async def _built(self, builds: Iterable[Callable[[], None]]) -> bool:
        """Build some targets. False where a file has changed in the meantime: the rest is not built then."""
        waiting = iter(builds)

        async def some() -> None:
            while not self._changed and (build := next(waiting, None)):
                await self.beside(build)

        await asyncio.gather(*(some() for _ in range(cores())))
        return not self._changed

    def publish(self, found: Mapping[str, Sequence[Diagnostic]], texts: Mapping[str, OpenText]) -> None:
        """Send the diagnostics of files, as these texts have them."""
        for file, each in found.items():
            convert = self.converter(file)
            version = texts[file].version if file in texts else None
            made = [convert.diagnostic(one) for one in each]
            self.text_document_publish_diagnostics(
                lsp.PublishDiagnosticsParams(uri=uri_of(file), diagnostics=made, version=version)
            )

    def say(self, messages: Iterable[str]) -> None:
        """Show each message once."""
        for message in messages:
            if message not in self._said:
                self._said.add(message)
                self.window_show_message(lsp.ShowMessageParams(type=lsp.MessageType.Info, message=message))

    def converter(self, file: str) -> Converter:
        """What converts answers about a file."""
        document = self.workspace.get_text_document(uri_of(file))
        return Converter(document, self.session.workspace.text(file).split("\n"))

    async def at(self, params: Any, call: Callable[..., Any], **named: Any) -> tuple[Any, Converter | None]:
        """What a method of the session answers about the place of a request, and what converts it."""
        file = file_of(params.text_document.uri)
        if file is None:
            return None, None
        convert = self.converter(file)
        found = await self.work(call, file, params.position.line, convert.character(params.position), **named)
        return found, convert

    def location(self, place: NamePlace) -> lsp.Location:
        """A place in any file."""
        return lsp.Location(uri=uri_of(place.file), range=self.converter(place.file).range(place))


def server(*, afresh: bool = False) -> Server:
    """A server with all of its features."""
    made = Server(afresh=afresh)
    for features in (_session, _texts, _places, _files):
        features(made)
    return made


def _session(server: Server) -> None:
    """The beginning, the user's settings, and changes on the disk."""

    @server.feature(lsp.INITIALIZE)
    def initialize(params: lsp.InitializeParams) -> None:
        server.begin(server.workspace.root_path, params.initialization_options)

    @server.feature(lsp.INITIALIZED)
    async def initialized(_: lsp.InitializedParams) -> None:
        await server.watch()
        server.judge_soon(*ALL)

    @server.feature(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    async def watched(params: lsp.DidChangeWatchedFilesParams) -> None:
        server.judge_soon(*filter(None, (file_of(each.uri) for each in params.changes)))

    @server.feature(lsp.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def configured(params: lsp.DidChangeConfigurationParams) -> None:
        server.configure(params.settings)
        asked = server.client_capabilities.workspace
        if asked and asked.inlay_hint and asked.inlay_hint.refresh_support:
            server.workspace_inlay_hint_refresh(None)


def _texts(server: Server) -> None:
    """The notifications about the texts of open files."""

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    async def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        document = params.text_document
        server.take(document.uri, OpenText(text=document.text, version=document.version))

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        uri = params.text_document.uri
        text = server.workspace.get_text_document(uri).source
        server.take(uri, OpenText(text=text, version=params.text_document.version))

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        server.take(params.text_document.uri, None)

    @server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    async def saved(params: lsp.DidSaveTextDocumentParams) -> None:
        if file := file_of(params.text_document.uri):
            server.judge_soon(file)


def _places(server: Server) -> None:
    """The requests about a place."""

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    async def hover(params: lsp.HoverParams) -> lsp.Hover | None:
        await server.build_for(params.text_document.uri)
        for build in (await server.at(params, server.session.builds_before))[0] or ():
            await server.beside(build)
        found, convert = await server.at(params, server.session.hover)
        return convert.hover(found) if found and convert else None

    @server.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=[" ", ":", "-"]))
    async def completion(params: lsp.CompletionParams) -> list[lsp.CompletionItem]:
        found, convert = await server.at(params, server.session.completions)
        return [convert.completion(each) for each in found or ()] if convert else []

    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    async def definition(params: lsp.DefinitionParams) -> list[lsp.Location]:
        found, _ = await server.at(params, server.session.definitions)
        return [server.location(each) for each in found or ()]

    @server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
    async def references(params: lsp.ReferenceParams) -> list[lsp.Location]:
        declaration = params.context.include_declaration
        found, _ = await server.at(params, server.session.references, declaration=declaration)
        return [server.location(each) for each in found or ()]


def _files(server: Server) -> None:
    """The requests about a file, or lines of it."""

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    async def symbols(params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
        file = file_of(params.text_document.uri)
        if file is None:
            return []
        found = await server.work(server.session.symbols, file)
        convert = server.converter(file)
        return [convert.symbol(each) for each in found]

    @server.feature(lsp.TEXT_DOCUMENT_INLAY_HINT)
    async def hints(params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
        file = file_of(params.text_document.uri)
        if file is None or not server.hints:
            return []
        await server.build_for(params.text_document.uri)
        found = await server.work(server.session.hints, file, params.range.start.line, params.range.end.line)
        convert = server.converter(file)
        return [convert.hint(each) for each in found]

    @server.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix]))
    async def actions(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        file = file_of(params.text_document.uri)
        if file is None:
            return []
        found = await server.work(server.session.actions, file, params.range.start.line, params.range.end.line)
        convert = server.converter(file)
        return [convert.action(file, each, params.context.diagnostics) for each in found]
