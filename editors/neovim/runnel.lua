-- Runnel in Neovim: errors while you type, completion with CTRL-X CTRL-O, K for the definition of a message. Colours
-- and folds by tree-sitter, where `parser/runnel.so` and `queries/runnel/` are in the configuration (see README.md).
vim.filetype.add({
    extension = { rnl = 'runnel', st = 'runnel' },
    pattern = {
        ['.*'] = {
            function(_, buffer)
                local first = vim.api.nvim_buf_get_lines(buffer, 0, 1, false)[1] or ''
                if first:match('^#!.*runnel') then return 'runnel' end
            end,
            { priority = -math.huge },
        },
    },
})

vim.api.nvim_create_autocmd('FileType', {
    pattern = 'runnel',
    callback = function(event)
        vim.bo[event.buf].commentstring = '// %s'
        vim.bo[event.buf].omnifunc = 'v:lua.vim.lsp.omnifunc'
        if vim.treesitter.start and pcall(vim.treesitter.start, event.buf, 'runnel') then
            vim.wo.foldmethod = 'expr'
            vim.wo.foldexpr = vim.treesitter.foldexpr and 'v:lua.vim.treesitter.foldexpr()' or '0'
            vim.wo.foldlevel = 99
        end
        local git = vim.fs.find('.git', { upward = true })[1]
        local root = git and vim.fs.dirname(git) or vim.fn.getcwd()
        vim.lsp.start({ name = 'runnel', cmd = { 'runnel', 'lsp' }, root_dir = root })
    end,
})
