// Pictures of the page for the documents, with real figures.
import { join } from "node:path";
import { PASSPHRASE } from "./person.mjs";

const FOLDER = process.env.OMR_PICTURES;
/** A file of 200 posts: three of them make a board longer than what a scan has the payloads of. */
const LONG = { name: "photo.jpg", mimeType: "image/jpeg", buffer: Buffer.alloc(100_000, 1) };

export async function pictures(alice, bob) {
  const page = await alice.visit();
  await page.getByLabel("Passphrase").fill(PASSPHRASE);
  await shoot(page, "mail-start", { width: 390, height: 844 }, "light");
  await page.getByRole("button", { name: "Make my address" }).click();
  await alice.ready();
  const address = await alice.address();
  const bobs = await bob.make();
  for (let i = 0; i < 3; i++) await bob.send(bobs, `A picture of day ${i}`, [LONG]);
  await bob.send(address, "Dear Alice,\n\nthe garden is yours on Saturday.\nI leave the key where you know.\n\nBob");
  await bob.send(bobs, "Water the tomatoes");
  await bob.send(address, "Shall I bring the ladder?", [
    { name: "plan.txt", mimeType: "text/plain", buffer: Buffer.alloc(2500, "plan ") },
  ]);
  for (let i = 0; i < 5; i++) await bob.send(bobs, `A note of ${i}`);
  await page.reload();
  await alice.unlock();
  await alice.ready();
  await alice.send(bobs, "Thank you!");
  await alice.go(/^Letters/);
  await shoot(page, "mail-letters", { width: 1200, height: 1060 }, "light");
  await alice.go("Address", "Your address");
  await shoot(page, "mail-address", { width: 390, height: 844 }, "dark");
}

export async function shoot(page, name, size, colorScheme) {
  await page.setViewportSize(size);
  await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
  await page.screenshot({ path: join(FOLDER, `${name}.png`) });
}
