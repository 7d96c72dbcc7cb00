// How hard a passphrase is to guess, told carefully: nobody but its author knows how she chose it.
import { LEAST_CHARACTERS } from "../src/vault.js";

export interface Strength {
  /** 0 to 4. */
  score: number;
  words: string;
}

/** Fewer characters make no identity. */
export const LEAST = LEAST_CHARACTERS;

/** Whether a passphrase may lock a new identity. */
export function isLongEnough(passphrase: string): boolean {
  return Array.from(passphrase.normalize("NFC")).length >= LEAST;
}

export function strength(passphrase: string): Strength {
  const characters = Array.from(passphrase.normalize("NFC"));
  const different = new Set(characters).size;
  const weight = Math.min(characters.length, different * 2);
  if (!isLongEnough(passphrase))
    return { score: passphrase === "" ? 0 : 1, words: `Too short: at least ${LEAST} characters.` };
  if (weight < 14) return { score: 2, words: "Weak against somebody who has a copy of this device." };
  if (weight < 20) return { score: 3, words: "Fair. Four words without a connection are better." };
  return { score: 4, words: "Long enough, if nobody else would think of it." };
}

// 16 and 4 of each, so that every byte is as likely as another: 4 + 2 + 4 + 2 + 4 bits a word.
const CONSONANTS = "bdfghjklmnprstvz";
const VOWELS = "aeio";
const SHAPE = [CONSONANTS, VOWELS, CONSONANTS, VOWELS, CONSONANTS];
const WORDS = 5;

/** A passphrase of 80 random bits that can be said aloud. */
export function suggestion(): string {
  const random = crypto.getRandomValues(new Uint8Array(WORDS * SHAPE.length));
  const letters = Array.from(random, (byte, i) => {
    const from = SHAPE[i % SHAPE.length] ?? VOWELS;
    return from.charAt(byte % from.length);
  });
  return Array.from({ length: WORDS }, (_, i) => letters.slice(i * SHAPE.length, (i + 1) * SHAPE.length).join("")).join(
    "-",
  );
}
