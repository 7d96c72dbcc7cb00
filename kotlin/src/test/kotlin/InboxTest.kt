import java.io.File
import java.util.concurrent.TimeUnit
import kotlin.test.AfterTest
import kotlin.test.Test
import kotlin.test.assertContentEquals
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertFalse
import kotlin.test.assertNotNull
import kotlin.test.assertNull
import kotlin.test.assertTrue
import omr.Figure
import omr.Inbox
import omr.Kind
import omr.OmrException
import omr.Watch
import omr.Words

private const val PASSPHRASE = "correct horse battery staple"

/** A watch that records its progress. */
private class Recorder : Watch {
    val stages = mutableListOf<Triple<String, ULong, ULong>>()

    override fun at(stage: String, done: ULong, total: ULong) {
        stages += Triple(stage, done, total)
    }

    override fun isStopped() = false
}

/** A watch that stops its work at once. */
private object Stopping : Watch {
    override fun at(stage: String, done: ULong, total: ULong) = Unit

    override fun isStopped() = true
}

class InboxTest {
    private val folder = kotlin.io.path.createTempDirectory("omr-kotlin").toFile()
    private val server = Served(File(folder, "server"))

    @AfterTest
    fun end() {
        server.close()
        folder.deleteRecursively()
    }

    private fun home(name: String) = File(folder, name).path

    private fun create(name: String, words: Words? = null, watch: Watch? = null) =
        Inbox.create(home(name), server.url, null, words = words, watch = watch)

    private fun failed(kind: Kind, call: () -> Unit): OmrException.Failed {
        val error = assertFailsWith<OmrException.Failed> { call() }
        assertEquals(kind, error.kind, error.sentence)
        return error
    }

    @Test
    fun lettersGoBothWays() {
        val recorder = Recorder()
        create("ann", watch = recorder).use { ann ->
            create("bob").use { bob ->
                val (stage, done, total) = recorder.stages.last()
                assertEquals("uploading key", stage)
                assertTrue(done == total && total > 0UL)
                assertEquals(Served.TINY, ann.params())
                assertTrue(ann.warnings().isEmpty())
                bob.addContact("ann", ann.publish())
                assertEquals(mapOf("ann" to ann.address()), bob.contacts())
                val text = "hello Ann".toByteArray()
                bob.send("ann", text, name = "note", subject = "Greetings", mediaType = "text/plain", signed = true)
                bob.send(ann.address(), ByteArray(3000) { it.toByte() })

                val fetching = Recorder()
                val fetched = ann.fetch(fetching)
                assertTrue(fetching.stages.isNotEmpty())
                assertEquals(2, fetched.letters.size)
                assertTrue(fetched.kept.isEmpty() && fetched.warnings.isEmpty(), fetched.toString())
                val (letter, long) = fetched.letters
                assertContentEquals(text, letter.data)
                assertContentEquals(ByteArray(3000) { it.toByte() }, long.data)
                assertEquals(listOf("note", "Greetings", "text/plain"), listOf(letter.name, letter.subject, letter.mediaType))
                assertFalse(letter.forged)
                assertNull(long.sender)
                assertFalse("hello" in letter.toString() || "Greetings" in letter.toString(), letter.toString())
                assertTrue(ann.fetch().letters.isEmpty())
                assertEquals(0UL, ann.waiting().messages)

                ann.markRead(listOf(letter.number))
                assertEquals(listOf(long.number), ann.letters().map { it.number })
                assertEquals(2, ann.letters(all = true).size)
                ann.delete(listOf(long.number))
                assertEquals(listOf(letter.number), ann.letters(all = true).map { it.number })

                ann.addContact("bob", bob.address())
                ann.reply(letter.number, "hello Bob".toByteArray())
                val answer = bob.fetch().letters.single()
                assertEquals("hello Bob", String(answer.data))
                assertEquals(letter.thread, assertNotNull(answer.thread))

                val sender = assertNotNull(letter.sender)
                ann.mute(sender)
                assertEquals(1, ann.muted().size)
                assertTrue(ann.unmute(sender))
                ann.removeContact("bob")
                assertTrue(ann.contacts().isEmpty())
            }
        }
    }

    @Test
    fun theProgramOfThePageGreets() {
        val block = File("README.md").readText().substringAfter("```kotlin\n").substringBefore("```")
        assertTrue(block in File("src/test/kotlin/Readme.kt").readText(), "expected the program of README.md")
        create("ann").use { ann ->
            greet(home("bob"), server.url, PASSPHRASE, ann.address())
            assertEquals("A greeting", ann.fetch().letters.single().subject)
        }
    }

    @Test
    fun wordsBringBackALostRecipient() {
        Words.generate().use { words ->
            assertEquals(24, words.each().size)
            assertFalse(words.each().any { it in words.toString() })
            val address = create("ann", words).use { ann ->
                ann.send(ann.address(), "to myself".toByteArray())
                ann.address()
            }
            Words.parse(words.each().joinToString(" ")).use { again ->
                create("found", again).use { found ->
                    assertEquals(address, found.address())
                    assertEquals("to myself", String(found.fetch().letters.single().data))
                }
            }
            val others = words.each().toMutableList()
            others[7] = "nonsense"
            val unknown = failed(Kind.WORDS) { Words.parse(others.joinToString(" ")) }
            assertTrue("word 8" in unknown.sentence && "nonsense" !in unknown.toString(), unknown.sentence)
        }
        val few = failed(Kind.WORDS) { Words.parse("legal winner") }
        assertTrue("expected 24 words, found 2" in few.sentence, few.sentence)
    }

    @Test
    fun anUploadGoesOnWhereAKilledProgramEnded() {
        // Its keys have 13 MB, which are sent in pieces of one.
        Served(File(folder, "whole"), "hybrid-v4").use { whole ->
            Narrow(whole.url, most = 4 shl 20).use { narrow ->
                val child = Child("create", home("ann"), narrow.url)
                assertTrue(narrow.full.await(60, TimeUnit.SECONDS))
                child.kill()
            }
            failed(Kind.IDENTITY) { Inbox.create(home("ann"), whole.url, null) }
            val recorder = Recorder()
            Inbox.register(home("ann"), null, url = whole.url, watch = recorder).close()
            val (stage, first, total) = recorder.stages.first()
            assertEquals("uploading key", stage)
            assertTrue(first in (1UL shl 20)..<total, "${recorder.stages}")
            assertEquals(total, recorder.stages.last().second)
        }
    }

    @Test
    fun aFetchGoesOnWhereAHaltedProgramEnded() {
        create("ann").use { ann -> ann.send(ann.address(), "once".toByteArray()) }
        assertEquals(HALTED, Child("fetch", home("ann")).ended())
        Inbox.open(home("ann"), null).use { ann ->
            assertEquals("once", String(ann.fetch().letters.single().data))
            assertTrue(ann.fetch().letters.isEmpty())
        }
    }

    @Test
    fun theCallerStopsWork() {
        create("ann").use { ann ->
            ann.send(ann.address(), "later".toByteArray())
            failed(Kind.STOPPED) { ann.fetch(Stopping) }
            assertEquals("later", String(ann.fetch().letters.single().data))
        }
        val throwing = object : Watch {
            override fun at(stage: String, done: ULong, total: ULong) = error("the screen is gone")

            override fun isStopped() = false
        }
        val thrown = failed(Kind.STOPPED) { create("bob", watch = throwing) }
        assertTrue("the screen is gone" in thrown.sentence, thrown.sentence)
        failed(Kind.STOPPED) { Inbox.register(home("bob"), null, watch = Stopping) }
        Inbox.register(home("bob"), null).use { bob -> assertTrue(bob.fetch().letters.isEmpty()) }
    }

    @Test
    fun badInputHasAKindAndFigures() {
        failed(Kind.IDENTITY) { Inbox.open(home("nobody"), null) }
        failed(Kind.UNREACHABLE) { Inbox.create(home("far"), "http://127.0.0.1:1", null) }
        failed(Kind.SERVER) { Inbox.create(home("far"), "no url", null) }
        val other = failed(Kind.OTHER_PARAMS) { Inbox.create(home("other"), server.url, null, params = "sophomr-v5") }
        val names = mapOf("expected" to Figure.Text("sophomr-v5"), "found" to Figure.Text(Served.TINY))
        assertEquals<Map<String, Figure>>(names, other.figures)
        Words.generate().use { words ->
            val early = failed(Kind.VALUE) {
                Inbox.create(home("early"), server.url, null, words = words, birthday = 7UL)
            }
            assertEquals(mapOf("expected" to Figure.Number(0UL), "found" to Figure.Number(7UL)), early.figures)
        }
        create("ann").use { ann ->
            failed(Kind.IDENTITY) { create("ann") }
            failed(Kind.ADDRESS) { ann.send("nobody", byteArrayOf()) }
            failed(Kind.ADDRESS) { ann.send("omr1qqqq", byteArrayOf()) }
            failed(Kind.INBOX) { ann.reply(7UL, byteArrayOf()) }
            Inbox.open(home("ann"), null).use { beside ->
                failed(Kind.INBOX_BUSY) { beside.fetch() }
            }
            ann.close()
            assertFailsWith<IllegalStateException> { ann.letters() }
        }
    }

    @Test
    fun aPassphraseProtectsTheSecret() {
        failed(Kind.PASSPHRASE) { Inbox.create(home("ann"), server.url, "short") }
        Inbox.create(home("ann"), server.url, PASSPHRASE).close()
        failed(Kind.PASSPHRASE) { Inbox.open(home("ann"), "another horse") }
        failed(Kind.PASSPHRASE) { Inbox.open(home("ann"), null) }
        Inbox.open(home("ann"), PASSPHRASE).close()
        val secret = File(home("ann"), "secret.key")
        secret.writeBytes(secret.readBytes().copyOf(100))
        val cut = failed(Kind.FILE) { Inbox.open(home("ann"), PASSPHRASE) }
        assertEquals(setOf("expected", "found"), cut.figures.keys, cut.sentence)
    }

    @Test
    fun aProgramDecidesOnTheKind() {
        val retries = Kind.entries.filter { kind ->
            when (kind) {
                Kind.INBOX_BUSY, Kind.STOPPED, Kind.UNREACHABLE -> true
                Kind.ACCESS, Kind.ADDRESS, Kind.BOARD, Kind.DECODE, Kind.DETECTOR, Kind.DIGEST_OVERFLOW, Kind.FILE,
                Kind.IDENTITY, Kind.INBOX, Kind.INBOX_CLOSED, Kind.LETTER, Kind.OTHER_KEY, Kind.OTHER_PARAMS,
                Kind.PARAMS, Kind.PASSPHRASE, Kind.PLAN, Kind.SERVER, Kind.SYSTEM, Kind.VALUE, Kind.WORDS,
                -> false
            }
        }
        assertEquals(3, retries.size)
    }
}
