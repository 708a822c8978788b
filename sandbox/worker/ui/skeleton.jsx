import { box } from "./parts.jsx";

export const Skeleton = box("div", "skeleton", "animate-pulse rounded-md bg-accent");
