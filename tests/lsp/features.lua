-- Uses each feature of the server once, as Neovim's own client does, and prints the answers as JSON.
-- The environment has SERVER (the program), FOLDER (the workspace) and FILE (the file to open).
local answers = { diagnostics = nil }
local program, folder, file = os.getenv("SERVER"), os.getenv("FOLDER"), os.getenv("FILE")
vim.cmd("edit " .. folder .. "/" .. file)
local client = vim.lsp.start_client({ name = "kubevirt-render", cmd = { program, "-m", "krm_fn", "lsp" }, root_dir = folder })
vim.lsp.buf_attach_client(0, client)

local function place(word) -- the position of a word, as the protocol has it
  for number, line in ipairs(vim.api.nvim_buf_get_lines(0, 0, -1, false)) do
    local at = line:find(word, 1, true)
    if at then
      return { line = number - 1, character = at - 1 }
    end
  end
end

local function ask(method, more)
  local params = vim.tbl_extend("force", { textDocument = { uri = vim.uri_from_bufnr(0) } }, more or {})
  local found = vim.lsp.buf_request_sync(0, method, params, 20000)
  return found and found[client] and found[client].result
end

vim.wait(20000, function() return #vim.diagnostic.get(0) > 0 end, 20)
answers.diagnostics = vim.tbl_map(function(each) return each.code or each.message end, vim.diagnostic.get(0))
answers.hover = ask("textDocument/hover", { position = place("small") })
answers.field = ask("textDocument/hover", { position = place("bus") })
answers.vm = ask("textDocument/hover", { position = place("web") })
answers.completion = ask("textDocument/completion", { position = place("fedora") })
answers.definition = ask("textDocument/definition", { position = place("small") })
answers.references = ask("textDocument/references", { position = place("small"), context = { includeDeclaration = true } })
answers.symbols = ask("textDocument/documentSymbol")
local range = { start = { line = 0, character = 0 }, ["end"] = { line = 99, character = 0 } }
answers.actions = ask("textDocument/codeAction", { range = range, context = { diagnostics = {} } })
vim.lsp.util.apply_workspace_edit(answers.actions[1].edit, "utf-16")
answers.text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n") .. "\n"
vim.wait(20000, function() return #vim.diagnostic.get(0) == 0 end, 20)
answers.remaining = #vim.diagnostic.get(0)
answers.hints = ask("textDocument/inlayHint", { range = range })
answers.sized = ask("textDocument/hover", { position = place("web") })

local function completed(line, word) -- what fits behind a word that is typed in place of a line
  local at = place(line).line
  vim.api.nvim_buf_set_lines(0, at, at + 1, false, { word })
  vim.wait(300)
  local found = ask("textDocument/completion", { position = { line = at, character = #word } })
  vim.cmd("silent undo")
  return vim.tbl_map(function(each) return each.label end, found or {})
end

answers.completed = {
  value = completed("  runStrategy:", "  runStrategy: "),
  instancetype = completed("    name: small", "    name: "),
  revision = completed("    kind: VirtualMachineInstancetype", "    revisionName: "),
  volume = completed("            - name: root", "            - name: "),
  claim = completed("          containerDisk:", "          persistentVolumeClaim: {claimName: "),
}
vim.api.nvim_buf_set_lines(0, 0, 1, false, { 'apiVersion: "kubevirt.io/v1' })
vim.wait(20000, function() return #vim.diagnostic.get(0) > 0 end, 20)
answers.broken = vim.tbl_map(function(each) return each.code or each.message end, vim.diagnostic.get(0))
client = vim.lsp.get_client_by_id(client)
client.notify("workspace/didChangeConfiguration", { settings = { kubevirtRender = { inlayHints = false } } })
client = client.id
answers.without_hints = ask("textDocument/inlayHint", { range = range })
io.stdout:write(vim.json.encode(answers))
vim.cmd("qall!")
