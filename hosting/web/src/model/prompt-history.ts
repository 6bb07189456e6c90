// Messages that were sent in a conversation, which the arrow keys bring back into the message field.

/** Steps through sent messages, from the newest to the oldest; below the newest is what was being written. */
export class PromptHistory {
  private steps = 0;
  private draft = "";

  /** Returns the message before the shown one, given those sent, oldest first; null if there is none. */
  older(sent: readonly string[], shown: string): string | null {
    if (this.steps >= sent.length) return null;
    if (this.steps === 0) this.draft = shown;
    this.steps += 1;
    return sent.at(-this.steps) ?? null;
  }

  /** Returns the message after the shown one, at last what was being written; null if that is shown. */
  newer(sent: readonly string[]): string | null {
    if (this.steps === 0) return null;
    this.steps -= 1;
    return this.steps === 0 ? this.draft : (sent.at(-this.steps) ?? null);
  }

  /** Forgets the place: the text was changed or sent. */
  reset(): void {
    this.steps = 0;
  }
}
