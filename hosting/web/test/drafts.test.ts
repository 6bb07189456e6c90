import assert from "node:assert/strict";
import { test } from "node:test";
import { FILES_PREFIX, forgetDrafts, loadDraft, saveDraft } from "../src/model/drafts";

class Storage {
  getItem(name: string): string | null {
    return Object.hasOwn(this, name) ? (this as unknown as Record<string, string>)[name]! : null;
  }
  setItem(name: string, value: string): void {
    Object.assign(this, { [name]: value });
  }
  removeItem(name: string): void {
    delete (this as unknown as Record<string, string>)[name];
  }
}

test("who signs out leaves no draft and no name of a file, and their language and theme stay", () => {
  const storage = new Storage();
  Object.assign(globalThis, { localStorage: storage });
  storage.setItem("sophon.theme", "dark");
  saveDraft("a", "a secret");
  saveDraft("b", "another");
  storage.setItem(`${FILES_PREFIX}a`, "[]");
  assert.equal(loadDraft("a"), "a secret");
  forgetDrafts();
  assert.equal(loadDraft("a"), "");
  assert.deepEqual(Object.keys(storage), ["sophon.theme"]);
});
