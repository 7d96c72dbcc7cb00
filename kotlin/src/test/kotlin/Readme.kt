import omr.Inbox
import omr.Kind
import omr.OmrException

fun greet(home: String, url: String, passphrase: String, to: String) {
    Inbox.create(home, url, passphrase).use { inbox ->
        inbox.send(to, "hello".toByteArray(), subject = "A greeting", signed = true)
        try {
            for (letter in inbox.fetch().letters) println("${letter.sender}: ${String(letter.data)}")
        } catch (e: OmrException.Failed) {
            if (e.kind == Kind.UNREACHABLE) println("later: ${e.sentence}") else throw e
        }
    }
}
