;;; runnel.el --- Runnel in Emacs  -*- lexical-binding: t -*-

;; Errors while you type, completion, and the definition of a message at the point, by eglot. Colours, indentation
;; and a menu of definitions by tree-sitter, where Emacs has it and the grammar is installed:
;; M-x treesit-install-language-grammar RET runnel RET

(defvar runnel-mode-syntax-table
  (let ((table (make-syntax-table)))
    (modify-syntax-entry ?/ ". 12" table)
    (modify-syntax-entry ?\n ">" table)
    (modify-syntax-entry ?' "\"" table)
    (modify-syntax-entry ?\" "\"" table)
    (modify-syntax-entry ?\\ "\\" table)
    table)
  "Comments and texts of Runnel.")

;; Each string is a query; the tests of the grammar compile them.
(defconst runnel--highlights
  '((comment
     "(comment) @font-lock-comment-face")
    (string
     "[(string) (interpolated_string) (pattern)] @font-lock-string-face")
    (keyword
     "[\"var\" \"object\" \"test\" \"refuse\" \"check:\" \"message:\" \"for:\" \"closed\"] @font-lock-keyword-face
      [(definition_keyword) (verb) (clause_keyword) (parameter_place)] @font-lock-keyword-face")
    (definition
     "(class_definition name: (identifier) @font-lock-type-face)
      (class_definition superclass: (identifier) @font-lock-type-face)
      (template_definition name: (identifier) @font-lock-type-face)
      (method_definition selector: (_) @font-lock-function-name-face)
      (signature selector: (_) @font-lock-function-name-face)
      (variable_declaration name: (identifier) @font-lock-variable-name-face)
      (parameter name: (identifier) @font-lock-variable-name-face)
      (block_parameters name: (identifier) @font-lock-variable-name-face)
      (path_pattern) @font-lock-string-face")
    (type
     "(type_identifier) @font-lock-type-face
      (parenthesized_type (identifier) @font-lock-type-face)")
    (constant
     "(number) @font-lock-constant-face
      (symbol) @font-lock-constant-face
      (tag) @font-lock-type-face
      (key) @font-lock-constant-face")
    (reference
     "(scheme) @font-lock-builtin-face
      (path_text) @font-lock-string-face")
    (message
     "(keyword) @font-lock-function-name-face
      (unary_message (identifier) @font-lock-function-name-face)")
    (escape
     "(escape_sequence) @font-lock-preprocessor-face
      (interpolation [\"{\" \"}\"] @font-lock-preprocessor-face)"))
  "What has which face, by feature.")

(defun runnel--treesit-setup ()
  "Colours, indentation and definitions by tree-sitter."
  (treesit-parser-create 'runnel)
  (setq-local treesit-font-lock-settings
              (apply #'treesit-font-lock-rules
                     (apply #'append
                            (mapcar (lambda (entry)
                                      (list :language 'runnel :feature (car entry)
                                            :override (memq (car entry) '(escape reference))
                                            (cadr entry)))
                                    runnel--highlights))))
  (setq-local treesit-font-lock-feature-list
              '((comment definition) (keyword string type) (constant reference message escape)))
  (setq-local treesit-simple-indent-rules
              '((runnel
                 ((node-is "[]})]") parent-bol 0)
                 ((parent-is "block\\|_body\\|property_path\\|array\\|dictionary\\|attributes\\|children")
                  parent-bol 4))))
  (setq-local treesit-simple-imenu-settings
              '(("Class" "\\`class_definition\\'") ("Method" "\\`method_definition\\'")))
  (setq-local treesit-defun-type-regexp "class_definition\\|method_definition\\|handler\\|test_definition")
  (treesit-major-mode-setup))

;;;###autoload
(define-derived-mode runnel-mode prog-mode "Runnel"
  "Edits programs of Runnel."
  (setq-local comment-start "// ")
  (setq-local comment-end "")
  (setq-local indent-tabs-mode nil)
  (setq-local tab-width 4)
  (when (and (fboundp 'treesit-ready-p) (treesit-ready-p 'runnel t))
    (runnel--treesit-setup)))

(with-eval-after-load 'treesit
  (add-to-list 'treesit-language-source-alist
               '(runnel "https://github.com/runnel-lang/runnel" "main" "editors/tree-sitter-runnel/src")))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.\\(rnl\\|st\\)\\'" . runnel-mode))
(add-to-list 'interpreter-mode-alist '("runnel" . runnel-mode))

(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs '(runnel-mode . ("runnel" "lsp"))))

(add-hook 'runnel-mode-hook (lambda () (when (fboundp 'eglot-ensure) (eglot-ensure))))

(provide 'runnel)
;;; runnel.el ends here
