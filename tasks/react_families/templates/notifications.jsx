import { useState } from "react";

const MESSAGES = @items;

export default function Notifications() {
  const [messages, setMessages] = useState(MESSAGES);

  return (
    <aside className="mx-auto mt-10 w-96 rounded-xl bg-white p-5 shadow-xl">
      <div className="mb-3 flex items-baseline justify-between">
        <h2 className="text-lg font-bold">@title</h2>
        <span className="rounded-full bg-@tone-100 px-3 text-sm text-@tone-800">{messages.length} unread</span>
      </div>
      {messages.length === 0 && <p className="py-6 text-center text-gray-500">@empty</p>}
      <ul className="divide-y divide-gray-200">
        {messages.map((message) => (
          <li key={message} className="flex items-center justify-between gap-4 py-3">
            <span>{message}</span>
            <button
              className="text-sm text-gray-500 hover:text-black"
              onClick={() => setMessages(messages.filter((m) => m !== message))}
            >
              @dismiss
            </button>
          </li>
        ))}
      </ul>
      <button className="mt-3 w-full rounded bg-gray-900 py-2 text-white" onClick={() => setMessages([])}>
        @clear
      </button>
    </aside>
  );
}
