//! Single operations of tfhe-rs with prepared keys. Their results are decrypted once, so that the measured operations
//! are known to work.

use tfhe::core_crypto::commons::generators::DeterministicSeeder;
use tfhe::core_crypto::commons::math::random::Seed;
use tfhe::core_crypto::prelude::*;

/// The dimensions of a bootstrap.
pub(crate) struct Shape {
    /// The dimension of the LWE secret.
    pub(crate) n: usize,
    /// The standard deviation of the ciphertext, as a fraction of the modulus.
    pub(crate) noise: f64,
    /// The dimension of the ring.
    pub(crate) big_n: usize,
    /// The standard deviation of the key, as a fraction of the modulus.
    pub(crate) key_noise: f64,
    /// The bits of a digit, and the number of digits.
    pub(crate) gadget: (usize, usize),
}

/// Secrets and randomness of one operation, from fixed seeds.
struct Draw {
    secrets: SecretRandomGenerator<DefaultRandomGenerator>,
    encryption: EncryptionRandomGenerator<DefaultRandomGenerator>,
}

impl Draw {
    fn new() -> Self {
        let mut seeder = DeterministicSeeder::<DefaultRandomGenerator>::new(Seed(1));
        Self {
            secrets: SecretRandomGenerator::new(Seed(2)),
            encryption: EncryptionRandomGenerator::new(Seed(3), &mut seeder),
        }
    }

    /// Returns an encryption of `message`.
    fn encrypt<T: UnsignedTorus>(
        &mut self,
        key: &LweSecretKeyOwned<T>,
        message: T,
        noise: f64,
    ) -> LweCiphertextOwned<T> {
        let (native, noise) = (CiphertextModulus::new_native(), gaussian(noise));
        let encryption = &mut self.encryption;
        allocate_and_encrypt_new_lwe_ciphertext(key, Plaintext(message), noise, native, encryption)
    }
}

fn gaussian(sd: f64) -> Gaussian<f64> {
    Gaussian::from_dispersion_parameter(StandardDev(sd), 0.0)
}

/// Returns an eighth of the modulus.
fn eighth<T: UnsignedTorus>() -> T {
    T::ONE << (T::BITS - 3)
}

/// Checks that `ct` contains an eighth, to within one.
///
/// Panics: if it does not.
fn check<T: UnsignedTorus>(key: &LweSecretKeyOwned<T>, ct: &LweCiphertextOwned<T>) {
    let Plaintext(found) = decrypt_lwe_ciphertext(key, ct);
    assert!(found < eighth::<T>() + eighth(), "found {found}");
}

/// Programmable bootstraps modulo the words' size, with a key in the Fourier domain.
pub(crate) struct Bootstrap<T: UnsignedTorus> {
    key: FourierLweBootstrapKeyOwned,
    table: GlweCiphertextOwned<T>,
    input: LweCiphertextOwned<T>,
    output: LweCiphertextOwned<T>,
    fft: Fft,
    buffers: ComputationBuffers,
}

impl<T: UnsignedTorus + CastInto<usize>> Bootstrap<T> {
    pub(crate) fn new(shape: &Shape) -> Self {
        let mut draw = Draw::new();
        let native = CiphertextModulus::new_native();
        let (k, big_n) = (GlweDimension(1), PolynomialSize(shape.big_n));
        let small: LweSecretKeyOwned<T> =
            LweSecretKey::generate_new_binary(LweDimension(shape.n), &mut draw.secrets);
        let big_glwe: GlweSecretKeyOwned<T> =
            GlweSecretKey::generate_new_binary(k, big_n, &mut draw.secrets);
        let key = Self::key(shape, &small, &big_glwe, &mut draw);
        let big = big_glwe.into_lwe_secret_key();
        let fft = Fft::new(big_n);
        let mut buffers = ComputationBuffers::new();
        let needed = programmable_bootstrap_lwe_ciphertext_mem_optimized_requirement::<T>(
            k.to_glwe_size(),
            big_n,
            fft.as_view(),
        );
        buffers.resize(needed.unaligned_bytes_required());
        // The sign, times an eighth.
        let table = PlaintextList::new(eighth(), PlaintextCount(shape.big_n));
        let size = big.lwe_dimension().to_lwe_size();
        let mut bootstrap = Self {
            key,
            table: allocate_and_trivially_encrypt_new_glwe_ciphertext(
                k.to_glwe_size(),
                &table,
                native,
            ),
            input: draw.encrypt(&small, eighth(), shape.noise),
            output: LweCiphertext::new(T::ZERO, size, native),
            fft,
            buffers,
        };
        bootstrap.run();
        check(&big, &bootstrap.output);
        bootstrap
    }

    fn key(
        shape: &Shape,
        from: &LweSecretKeyOwned<T>,
        to: &GlweSecretKeyOwned<T>,
        draw: &mut Draw,
    ) -> FourierLweBootstrapKeyOwned {
        let (bits, digits) = shape.gadget;
        let standard = allocate_and_generate_new_lwe_bootstrap_key(
            from,
            to,
            DecompositionBaseLog(bits),
            DecompositionLevelCount(digits),
            gaussian(shape.key_noise),
            CiphertextModulus::<T>::new_native(),
            &mut draw.encryption,
        );
        let mut key = FourierLweBootstrapKey::new(
            standard.input_lwe_dimension(),
            standard.glwe_size(),
            standard.polynomial_size(),
            standard.decomposition_base_log(),
            standard.decomposition_level_count(),
        );
        convert_standard_lwe_bootstrap_key_to_fourier(&standard, &mut key);
        key
    }

    pub(crate) fn run(&mut self) {
        programmable_bootstrap_lwe_ciphertext_mem_optimized(
            &self.input,
            &mut self.output,
            &self.table,
            &self.key,
            self.fft.as_view(),
            self.buffers.stack(),
        );
    }
}

/// The key switch of the paper's estimate: from dimension 1,024 to 630, 8 digits of 2 bits, modulo
/// 2^32.
pub(crate) struct Switch {
    key: LweKeyswitchKeyOwned<u32>,
    input: LweCiphertextOwned<u32>,
    output: LweCiphertextOwned<u32>,
}

impl Switch {
    pub(crate) fn new() -> Self {
        let mut draw = Draw::new();
        let [from, to]: [LweSecretKeyOwned<u32>; 2] = [1024, 630]
            .map(|n| LweSecretKey::generate_new_binary(LweDimension(n), &mut draw.secrets));
        let native = CiphertextModulus::new_native();
        let noise = 2f64.powi(-15);
        let mut switch = Self {
            input: draw.encrypt(&from, eighth(), noise),
            key: allocate_and_generate_new_lwe_keyswitch_key(
                &from,
                &to,
                DecompositionBaseLog(2),
                DecompositionLevelCount(8),
                gaussian(noise),
                native,
                &mut draw.encryption,
            ),
            output: LweCiphertext::new(0, to.lwe_dimension().to_lwe_size(), native),
        };
        switch.run();
        check(&to, &switch.output);
        switch
    }

    pub(crate) fn run(&mut self) {
        keyswitch_lwe_ciphertext(&self.key, &self.input, &mut self.output);
    }
}
