import js from "@eslint/js";
import ts from "typescript-eslint";

export default ts.config(
  js.configs.recommended,
  {
    files: ["src/**/*.ts"],
    extends: [ts.configs.strictTypeChecked, ts.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
  },
  { files: ["test/**/*.mjs"], languageOptions: { globals: { process: "readonly", setTimeout: "readonly" } } },
);
