//! The one-byte encodings that ftfy tries, in its order, and what each of their bytes stands for.

/// An encoding of one byte a character; its lower half is ASCII.
pub(super) struct CodePage {
    /// Characters of the bytes from 0x80 on; empty for Latin-1, where they are the bytes themselves.
    upper: &'static str,
    kind: Kind,
}

/// What else is known of a code page.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Every byte has a character.
    Whole,
    /// As [`Kind::Whole`], on a Mac, where an en dash before a space is no trace of a lost byte.
    Mac,
    /// Bytes without a character stand for the control of the same number, and U+FFFD for byte 0x1A.
    Sloppy,
}

/// In the order in which they are tried.
pub(super) const ENCODINGS: [CodePage; 10] = [
    CodePage { upper: "", kind: Kind::Whole },
    CodePage { upper: WINDOWS_1252, kind: Kind::Sloppy },
    CodePage { upper: WINDOWS_1251, kind: Kind::Sloppy },
    CodePage { upper: WINDOWS_1250, kind: Kind::Sloppy },
    CodePage { upper: WINDOWS_1253, kind: Kind::Sloppy },
    CodePage { upper: WINDOWS_1254, kind: Kind::Sloppy },
    CodePage { upper: WINDOWS_1257, kind: Kind::Sloppy },
    CodePage { upper: ISO_8859_2, kind: Kind::Whole },
    CodePage { upper: MAC_ROMAN, kind: Kind::Mac },
    CodePage { upper: CP_437, kind: Kind::Whole },
];
/// How many of [`ENCODINGS`], from the first, resemble Latin-1.
pub(super) const N_LIKE_LATIN_1: usize = 7;

/// What stands for a byte that was lost.
pub(super) const SUBSTITUTE: u8 = 0x1a;

impl CodePage {
    /// `text` in this encoding; `None` where it has a character that the encoding has not.
    pub(super) fn encode(&self, text: &str) -> Option<Vec<u8>> {
        text.chars().map(|c| self.byte(c)).collect()
    }

    /// The byte of `c`.
    fn byte(&self, c: char) -> Option<u8> {
        match (self.kind, c) {
            (Kind::Sloppy, '\u{fffd}') => Some(SUBSTITUTE),
            (Kind::Sloppy, '\u{1a}') => None,
            (_, '\0'..='\u{7f}') => Some(c as u8),
            _ if self.upper.is_empty() => u8::try_from(u32::from(c)).ok(),
            _ => self.upper.chars().position(|upper| upper == c).map(|idx| 0x80 + idx as u8),
        }
    }

    /// The character of `byte`, which is at least 0x80.
    pub(super) fn upper_char(&self, byte: u8) -> char {
        let found = self.upper.chars().nth(usize::from(byte) - 0x80);
        found.unwrap_or(char::from(byte))
    }

    /// Whether a space may have been the byte 0xA0.
    pub(super) fn may_have_lost_a0(&self) -> bool {
        self.kind != Kind::Mac
    }

    /// Whether it has a byte for characters that were lost.
    pub(super) fn is_sloppy(&self) -> bool {
        self.kind == Kind::Sloppy
    }
}

/// The character that Windows-1252 has for the byte `control` of 0x80 to 0x9F, the control of the same number where it
/// has none; `None` for other numbers.
pub(crate) fn of_windows_1252(control: u32) -> Option<char> {
    let is_control = (0x80..0xa0).contains(&control);
    is_control.then(|| ENCODINGS[1].upper_char(control as u8))
}

const WINDOWS_1252: &str = "\
    €\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8d}Ž\u{8f}\u{90}‘’“”•–—˜™š›œ\u{9d}žŸ\
    \u{a0}¡¢£¤¥¦§¨©ª«¬\u{ad}®¯°±²³´µ¶·¸¹º»¼½¾¿\
    ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖ×ØÙÚÛÜÝÞß\
    àáâãäåæçèéêëìíîïðñòóôõö÷øùúûüýþÿ";
const WINDOWS_1251: &str = "\
    ЂЃ‚ѓ„…†‡€‰Љ‹ЊЌЋЏђ‘’“”•–—\u{98}™љ›њќћџ\
    \u{a0}ЎўЈ¤Ґ¦§Ё©Є«¬\u{ad}®Ї°±Ііґµ¶·ё№є»јЅѕї\
    АБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯ\
    абвгдежзийклмнопрстуфхцчшщъыьэюя";
const WINDOWS_1250: &str = "\
    €\u{81}‚\u{83}„…†‡\u{88}‰Š‹ŚŤŽŹ\u{90}‘’“”•–—\u{98}™š›śťžź\
    \u{a0}ˇ˘Ł¤Ą¦§¨©Ş«¬\u{ad}®Ż°±˛ł´µ¶·¸ąş»Ľ˝ľż\
    ŔÁÂĂÄĹĆÇČÉĘËĚÍÎĎĐŃŇÓÔŐÖ×ŘŮÚŰÜÝŢß\
    ŕáâăäĺćçčéęëěíîďđńňóôőö÷řůúűüýţ˙";
const WINDOWS_1253: &str = "\
    €\u{81}‚ƒ„…†‡\u{88}‰\u{8a}‹\u{8c}\u{8d}\u{8e}\u{8f}\u{90}‘’“”•–—\u{98}™\u{9a}›\u{9c}\u{9d}\u{9e}\u{9f}\
    \u{a0}΅Ά£¤¥¦§¨©ª«¬\u{ad}®―°±²³΄µ¶·ΈΉΊ»Ό½ΎΏ\
    ΐΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡÒΣΤΥΦΧΨΩΪΫάέήί\
    ΰαβγδεζηθικλμνξοπρςστυφχψωϊϋόύώÿ";
const WINDOWS_1254: &str = "\
    €\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8d}\u{8e}\u{8f}\u{90}‘’“”•–—˜™š›œ\u{9d}\u{9e}Ÿ\
    \u{a0}¡¢£¤¥¦§¨©ª«¬\u{ad}®¯°±²³´µ¶·¸¹º»¼½¾¿\
    ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏĞÑÒÓÔÕÖ×ØÙÚÛÜİŞß\
    àáâãäåæçèéêëìíîïğñòóôõö÷øùúûüışÿ";
const WINDOWS_1257: &str = "\
    €\u{81}‚\u{83}„…†‡\u{88}‰\u{8a}‹\u{8c}¨ˇ¸\u{90}‘’“”•–—\u{98}™\u{9a}›\u{9c}¯˛\u{9f}\
    \u{a0}¡¢£¤¥¦§Ø©Ŗ«¬\u{ad}®Æ°±²³´µ¶·ø¹ŗ»¼½¾æ\
    ĄĮĀĆÄÅĘĒČÉŹĖĢĶĪĻŠŃŅÓŌÕÖ×ŲŁŚŪÜŻŽß\
    ąįāćäåęēčéźėģķīļšńņóōõö÷ųłśūüżž˙";
const ISO_8859_2: &str = "\
    \u{80}\u{81}\u{82}\u{83}\u{84}\u{85}\u{86}\u{87}\u{88}\u{89}\u{8a}\u{8b}\u{8c}\u{8d}\u{8e}\u{8f}\u{90}\u{91}\u{92}\u{93}\u{94}\u{95}\u{96}\u{97}\u{98}\u{99}\u{9a}\u{9b}\u{9c}\u{9d}\u{9e}\u{9f}\
    \u{a0}Ą˘Ł¤ĽŚ§¨ŠŞŤŹ\u{ad}ŽŻ°ą˛ł´ľśˇ¸šşťź˝žż\
    ŔÁÂĂÄĹĆÇČÉĘËĚÍÎĎĐŃŇÓÔŐÖ×ŘŮÚŰÜÝŢß\
    ŕáâăäĺćçčéęëěíîďđńňóôőö÷řůúűüýţ˙";
const MAC_ROMAN: &str = "\
    ÄÅÇÉÑÖÜáàâäãåçéèêëíìîïñóòôöõúùûü\
    †°¢£§•¶ß®©™´¨≠ÆØ∞±≤≥¥µ∂∑∏π∫ªºΩæø\
    ¿¡¬√ƒ≈∆«»…\u{a0}ÀÃÕŒœ–—“”‘’÷◊ÿŸ⁄€‹›ﬁﬂ\
    ‡·‚„‰ÂÊÁËÈÍÎÏÌÓÔ\u{f8ff}ÒÚÛÙıˆ˜¯˘˙˚¸˝˛ˇ";
const CP_437: &str = "\
    ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒ\
    áíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐\
    └┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀\
    αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_has_a_character_of_its_own_for_every_byte() {
        for (idx, page) in ENCODINGS.iter().enumerate() {
            assert!(matches!(page.upper.chars().count(), 0 | 128), "{idx}");
            for byte in 0x80..=0xff {
                assert_eq!(page.byte(page.upper_char(byte)), Some(byte), "{idx} {byte:x}");
            }
            assert_eq!(page.encode("a\u{2603}"), None);
        }
    }

    #[test]
    fn only_sloppy_pages_have_a_byte_for_what_was_lost() {
        let of = |c: &str| ENCODINGS.iter().map(|page| page.encode(c)).collect::<Vec<_>>();
        for (idx, (lost, substitute)) in of("\u{fffd}").into_iter().zip(of("\u{1a}")).enumerate() {
            let byte = Some(vec![SUBSTITUTE]);
            let expected = if (1..7).contains(&idx) { (byte, None) } else { (None, byte) };
            assert_eq!((lost, substitute), expected, "{idx}");
        }
    }
}
