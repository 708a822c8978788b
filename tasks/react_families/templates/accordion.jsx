import { useState } from "react";

const FAQ = @faq;

function Item({ question, answer }) {
  const [open, setOpen] = useState(false);
  return (
    <div className="border-b border-gray-300">
      <button
        className="flex w-full justify-between py-4 text-left font-medium"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        {question}
        <span aria-hidden="true">{open ? "–" : "+"}</span>
      </button>
      {open && <p className="pb-4 text-gray-600">{answer}</p>}
    </div>
  );
}

export default function Accordion() {
  return (
    <section className="mx-auto mt-10 max-w-xl p-6">
      <h2 className="mb-4 text-2xl font-bold text-@tone-800">@title</h2>
      {FAQ.map(([question, answer]) => (
        <Item key={question} question={question} answer={answer} />
      ))}
    </section>
  );
}
