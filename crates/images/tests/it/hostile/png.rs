//! Hostile PNG.

use super::comes_to;
use crate::made::{Numbers, png};

#[test]
fn png_headers_lie() {
    let pixel = |width, height| {
        png::file(&[png::header(width, height, 8, 6, 0), png::chunk(*b"IDAT", &png::packed(&[0; 5]))])
    };
    comes_to("png-longest", &pixel(u32::MAX, u32::MAX), "picture_too_long");
    comes_to("png-square", &pixel(16_384, 16_384), "picture_too_many_pixels");
    comes_to("png-no-data", &pixel(2_000, 2_000), "picture_damaged");
    comes_to("png-no-data-large", &pixel(5_400, 5_400), "picture_damaged");
    let mut long = pixel(1, 1);
    long[33..37].copy_from_slice(&u32::MAX.to_be_bytes());
    comes_to("png-long-chunk", &long, "picture_damaged");
}

#[test]
fn png_bombs_of_zlib() {
    // a gigabyte of zeros in a megabyte
    let bomb = png::packed_zeros(1 << 30);
    let pixel = png::chunk(*b"IDAT", &png::packed(&[0; 5]));
    let header = png::header(1, 1, 8, 6, 0);
    for (name, start) in [
        (*b"iTXt", &b"XML:com.adobe.xmp\0\x01\0\0\0"[..]),
        (*b"zTXt", b"Comment\0\0"),
        (*b"iCCP", b"ICC\0\0"),
    ] {
        let part = png::chunk(name, &[start, &bomb].concat());
        let file = png::file(&[header.clone(), part, pixel.clone()]);
        comes_to(&format!("png-bomb-{}", String::from_utf8_lossy(&name)), &file, "kept");
    }
    let file = png::file(&[header, png::chunk(*b"IDAT", &bomb)]);
    comes_to("png-bomb-IDAT", &file, "picture_damaged");
}

#[test]
fn png_as_large_as_can_be() {
    let zeros = |width: u32, height: u32, depth: u8, color: u8, bits: u64| {
        let row = (u64::from(width) * bits).div_ceil(8) + 1;
        let mut chunks = vec![png::header(width, height, depth, color, 0)];
        if color == 3 {
            chunks.push(png::chunk(*b"PLTE", &[9; 6]));
        }
        chunks.push(png::chunk(*b"IDAT", &png::packed_zeros(row * u64::from(height))));
        png::file(&chunks)
    };
    comes_to("png-30-rgba", &zeros(5_400, 5_500, 8, 6, 32), "kept");
    comes_to("png-40-rgba", &zeros(6_320, 6_320, 8, 6, 32), "picture_too_many_pixels");
    comes_to("png-40-rgb", &zeros(6_320, 6_320, 8, 2, 24), "kept");
    comes_to("png-40-bits", &zeros(16_000, 2_500, 1, 3, 1), "kept");
    comes_to("png-15-rgba16", &zeros(3_800, 3_900, 16, 6, 64), "kept");
    comes_to("png-40-rgba16", &zeros(6_320, 6_320, 16, 6, 64), "picture_too_many_pixels");
    comes_to("png-4-rgba16", &zeros(2_000, 2_000, 16, 6, 64), "kept");
    // the filter that takes the most work, and makes something that packs badly of what packs well
    let block = Numbers::new(13).bytes(3_160);
    let row = [vec![4], block.repeat(7)].concat();
    let data = png::packed(&row.repeat(5_460));
    let file = png::file(&[png::header(5_530, 5_460, 8, 6, 0), png::chunk(*b"IDAT", &data)]);
    comes_to("png-30-filtered", &file, "picture_too_many_bytes");
    // noise, which is large when it is packed, with the filter that takes the most work
    let mut numbers = Numbers::new(3);
    let rows: Vec<u8> = (0..1_150).flat_map(|_| [vec![4], numbers.bytes(2_100 * 4)].concat()).collect();
    let file = png::file(&[png::header(2_100, 1_150, 8, 6, 0), png::chunk(*b"IDAT", &png::packed(&rows))]);
    comes_to("png-noise", &file, "kept");
    // slopes: what packs neither well nor badly takes the most time to pack
    comes_to("png-photo", &png::photo(2_100, 1_700), "kept");
}

#[test]
fn png_of_countless_parts() {
    let header = png::header(1, 1, 8, 6, 0);
    let data = png::packed(&[0; 5]);
    let one_by_one: Vec<u8> = data.iter().flat_map(|byte| png::chunk(*b"IDAT", &[*byte])).collect();
    comes_to("png-byte-parts", &png::file(&[header.clone(), one_by_one]), "kept");
    let empty = png::chunk(*b"IDAT", &[]).repeat(800_000);
    comes_to("png-empty-parts", &png::file(&[header.clone(), empty, png::chunk(*b"IDAT", &data)]), "kept");
    // a megabyte of blocks that unpack to nothing
    let nothing = [&[0x78, 0x9c][..], &[0, 0, 0, 0xff, 0xff].repeat(1_900_000)].concat();
    comes_to("png-empty-blocks", &png::file(&[header, png::chunk(*b"IDAT", &nothing)]), "picture_damaged");
}

#[test]
fn png_of_countless_frames() {
    let mut chunks = vec![png::header(100, 100, 8, 0, 0)];
    chunks.push(png::chunk(*b"acTL", &[&200_000_u32.to_be_bytes()[..], &[0; 4]].concat()));
    chunks.push(png::chunk(*b"IDAT", &png::packed_zeros(101 * 100)));
    let data = png::packed(&[0, 0]);
    for frame in 0..90_000 {
        chunks.push(png::control(frame * 2, 1, 1));
        chunks.push(png::chunk(*b"fdAT", &[&(frame * 2 + 1).to_be_bytes()[..], &data].concat()));
    }
    comes_to("apng-frames", &png::file(&chunks), "picture_too_many_frames");

    let mut chunks = vec![png::header(2_000, 2_000, 8, 6, 0)];
    chunks.push(png::chunk(*b"acTL", &[&400_u32.to_be_bytes()[..], &[0; 4]].concat()));
    let data = png::packed_zeros(8_001 * 2_000);
    chunks.push(png::chunk(*b"IDAT", &data));
    for frame in 0..400_u32 {
        chunks.push(png::control(frame * 2, 2_000, 2_000));
        chunks.push(png::chunk(*b"fdAT", &[&(frame * 2 + 1).to_be_bytes()[..], &data].concat()));
    }
    comes_to("apng-pixels", &png::file(&chunks), "picture_too_many_frame_pixels");
}
