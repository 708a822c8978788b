// The texts and names in code: any word of them may be the name of a Tailwind class.
import * as walk from "acorn-walk";

/** The text that an ESTree node holds itself, or undefined. */
export function wordsIn(node) {
  if (node.type === "Literal") return typeof node.value === "string" ? node.value : undefined;
  if (node.type === "TemplateElement") return node.value.cooked ?? "";
  return node.type === "Property" && node.key.type === "Identifier" ? node.key.name : undefined;
}

/** Every word in a program, once. */
export function wordsOf(program) {
  const words = new Set();
  walk.full(program, (node) =>
    wordsIn(node)
      ?.split(/\s+/)
      .forEach((word) => words.add(word)),
  );
  return [...words];
}
