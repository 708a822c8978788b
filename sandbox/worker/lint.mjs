// ESLint for a component in one file.  Loaded when first asked for: it takes longer to load than everything else here.
import js from "@eslint/js";
import parser from "@typescript-eslint/parser";
import { Linter } from "eslint";
import a11y from "eslint-plugin-jsx-a11y";
import react from "eslint-plugin-react";
import hooks from "eslint-plugin-react-hooks";
import globals from "globals";
import { version } from "react";

const MOST = 100; // findings told of one component

const at = (severity, rules) =>
  Object.fromEntries(
    Object.entries(rules)
      .map(([name, setting]) => [name, [setting].flat()])
      .filter(([, [level]]) => level !== "off" && level !== 0)
      .map(([name, [, ...options]]) => [name, [severity, ...options]]),
  );

// An error fails when it runs, or does something else than was meant; a warning is better done in another way.
const RULES = {
  ...at("error", js.configs.recommended.rules),
  ...at("error", react.configs.flat.recommended.rules),
  ...at("warn", a11y.flatConfigs.recommended.rules),
  "react-hooks/rules-of-hooks": "error",
  "react/style-prop-object": "error",
  "react/void-dom-elements-no-children": "error",
  "no-case-declarations": "warn",
  "no-constant-condition": "warn",
  "no-debugger": "warn",
  "no-empty": "warn",
  "no-prototype-builtins": "warn",
  "no-unreachable": "warn",
  "no-useless-escape": "warn",
  "react-hooks/exhaustive-deps": "warn",
  "react/jsx-no-target-blank": "warn",
  "react/no-deprecated": "warn",
  "react/no-unstable-nested-components": "warn",
  // Not for one file that may be TypeScript, with JSX as it has been since React 17.
  "no-dupe-class-members": "off",
  "no-redeclare": "off",
  "react/display-name": "off",
  "react/no-unescaped-entities": "off",
  "react/prop-types": "off",
  "react/react-in-jsx-scope": "off",
};

const config = (unused) => ({
  files: ["**/*.tsx"],
  plugins: { react, "react-hooks": hooks, "jsx-a11y": a11y },
  languageOptions: {
    parser,
    parserOptions: { ecmaFeatures: { jsx: true }, jsDocParsingMode: "none" },
    globals: { ...globals.browser, exports: false, module: false, require: false },
  },
  linterOptions: { noInlineConfig: true, reportUnusedDisableDirectives: "off" }, // whoever is judged sets no rules
  settings: { react: { version } },
  rules: {
    ...RULES,
    "no-unused-vars": ["warn", { args: "none", caughtErrors: "none", ignoreRestSiblings: true, ...unused }],
  },
});
const exporting = config({});
const alone = config({ varsIgnorePattern: "^[A-Z]" }); // without an export nothing uses the component's name
const linter = new Linter({ configType: "flat" });

/**
 * @param {string} code a component, which may not even parse
 * @returns {{severity: "fatal" | "error" | "warning", line: number, column: number, message: string}[]} what ESLint
 *   says, at most 100 findings; line and column from 1, in UTF-16 units
 * @throws what a rule or the parser throws (RangeError where the code is nested too deep)
 */
export function lint(code) {
  const found = linter.verify(code, [/\bexport\b/.test(code) ? exporting : alone], { filename: "component.tsx" });
  const mark = code.startsWith("\uFEFF") ? 1 : 0; // ESLint takes it off
  const place = ({ line, column }) => ({ line, column: line === 1 ? column + mark : column });
  const fatal = found.find((message) => message.fatal);
  if (fatal?.message.includes("Maximum call stack")) throw new RangeError("nested too deep");
  if (fatal) {
    const { line = 1, column = 0, message } = fatal; // the parser counts columns from 0
    return [{ severity: "fatal", ...place({ line, column: column + 1 }), message }];
  }
  return found
    .filter((message) => message.ruleId && !isMistaken(message))
    .slice(0, MOST)
    .map(({ ruleId, severity, line, column, message }) => ({
      severity: severity === 2 ? "error" : "warning",
      ...place({ line, column }),
      message: `${message} (${ruleId})`,
    }));
}

const IN_A_TYPE = /^TS(ClassImplements|InterfaceHeritage|QualifiedName|TypeQuery|TypeReference)$/;

// ESLint's own rules know no types, and no JSX (where react/jsx-no-undef looks).
function isMistaken({ ruleId, line, column }) {
  if (ruleId !== "no-undef" && ruleId !== "no-unused-vars") return false;
  const source = linter.getSourceCode();
  const node = source.getNodeByRangeIndex(source.getIndexFromLoc({ line, column: column - 1 }));
  if (ruleId === "no-undef") return node.type === "JSXIdentifier" || IN_A_TYPE.test(node.parent?.type);
  return source.getAncestors(node).some(({ type }) => type === "TSEnumMember" || type === "TSModuleDeclaration");
}
